// Points in time and spans of it, as people read them. Pure; "now" is an argument.

const clock = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hour12: false,
})
const day = new Intl.DateTimeFormat('en-GB', { day: '2-digit', month: 'short' })
const whole = new Intl.DateTimeFormat('en-GB', {
  weekday: 'short',
  year: 'numeric',
  month: 'short',
  day: '2-digit',
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
  fractionalSecondDigits: 3,
  hour12: false,
  timeZoneName: 'short',
})

export const MISSING = '–'

/** 14:03:07.120 today, else with the day in front. */
export function formatClock(iso: string | null, nowMs = Date.now()): string {
  if (!iso) return MISSING
  const at = new Date(iso)
  const isToday = at.toDateString() === new Date(nowMs).toDateString()
  return isToday ? clock.format(at) : `${day.format(at)} ${clock.format(at).slice(0, 8)}`
}

export function formatWhole(iso: string | null): string {
  return iso ? whole.format(new Date(iso)) : MISSING
}

export function formatAgo(iso: string | null, nowMs: number): string {
  if (!iso) return MISSING
  return secondsSince(iso, nowMs) < 1 ? 'now' : `${formatAge(iso, nowMs)} ago`
}

export function formatAge(iso: string | null, nowMs: number): string {
  if (!iso) return MISSING
  const seconds = secondsSince(iso, nowMs)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min`
  if (seconds < 86_400) return `${Math.floor(seconds / 3600)} h`
  return `${Math.floor(seconds / 86_400)} d`
}

/** None of a moment that a server's clock has and ours has not reached yet. */
function secondsSince(iso: string, nowMs: number): number {
  return Math.max(0, Math.round((nowMs - Date.parse(iso)) / 1000))
}

/** 0.42 ms, 8.1 ms, 120 ms, 1.24 s, 3 min 5 s */
export function formatDuration(ms: number | null | undefined): string {
  if (ms === null || ms === undefined) return MISSING
  if (ms < 1) return `${ms.toFixed(2)} ms`
  if (ms < 10) return `${ms.toFixed(1)} ms`
  if (ms < 1000) return `${Math.round(ms)} ms`
  if (ms < 10_000) return `${(ms / 1000).toFixed(2)} s`
  if (ms < 60_000) return `${(ms / 1000).toFixed(1)} s`
  if (ms < 3_600_000) return `${Math.floor(ms / 60_000)} min ${Math.floor((ms % 60_000) / 1000)} s`
  return `${Math.floor(ms / 3_600_000)} h ${Math.floor((ms % 3_600_000) / 60_000)} min`
}
