// Moments as <input type="datetime-local"> writes them: local time, without a zone. Pure but for the zone.

const two = (value: number) => String(value).padStart(2, '0')

export function inputOf(iso: string): string {
  const at = new Date(iso)
  if (Number.isNaN(at.getTime())) return ''
  const day = `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`
  return `${day}T${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`
}

/** Nothing chosen is no limit. */
export function isoOf(input: string): string | undefined {
  const at = new Date(input)
  return Number.isNaN(at.getTime()) ? undefined : at.toISOString()
}
