// Moments as <input type="datetime-local"> writes them: in the zone that is shown, without naming it.

import { inZone, outOfZone } from '@/time/zone'

export function inputOf(iso: string): string {
  const at = Date.parse(iso)
  return Number.isNaN(at) ? '' : inZone(at).toISOString().slice(0, 19)
}

/** Nothing chosen is no limit. */
export function isoOf(input: string): string | undefined {
  const told = new Date(`${input}Z`)
  return Number.isNaN(told.getTime()) ? undefined : outOfZone(told).toISOString()
}
