// In which zone moments are told: the browser's, or UTC. Kept in this browser. Whatever formats a moment reads it, and is
// drawn again when it changes.

import { ref, watch } from 'vue'

export type Zone = 'local' | 'utc'
const KEY = 'callgate.zone'

export const zone = ref<Zone>(globalThis.localStorage?.getItem(KEY) === 'utc' ? 'utc' : 'local')
watch(zone, (chosen) => globalThis.localStorage?.setItem(KEY, chosen))

export const switchZone = () => void (zone.value = zone.value === 'utc' ? 'local' : 'utc')

/** What Intl takes; undefined: the browser's own. */
export const zoneOption = () => (zone.value === 'utc' ? 'UTC' : undefined)

const offset = new Intl.DateTimeFormat('en-GB', { timeZoneName: 'shortOffset' })

/** UTC, UTC+1, UTC-3:30: as it is at that moment. */
export function zoneLabel(atMs = Date.now()): string {
  if (zone.value === 'utc') return 'UTC'
  const part = offset.formatToParts(atMs).find((one) => one.type === 'timeZoneName')
  return (part?.value ?? 'UTC').replace('GMT', 'UTC')
}

export const zoneName = () => (zone.value === 'utc' ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone)

/** A moment whose UTC getters tell the time of the zone: for arithmetic with hours and days. */
export function inZone(atMs: number): Date {
  return new Date(zone.value === 'utc' ? atMs : atMs - new Date(atMs).getTimezoneOffset() * 60_000)
}

/** The other way: from the zone's own hours and days to the moment. */
export function outOfZone(told: Date): Date {
  if (zone.value === 'utc') return told
  const [year, month, day] = [told.getUTCFullYear(), told.getUTCMonth(), told.getUTCDate()]
  return new Date(year, month, day, told.getUTCHours(), told.getUTCMinutes(), told.getUTCSeconds(), told.getUTCMilliseconds())
}

/** 2026-11-18: the day on which a moment is, there. */
export const dayOf = (iso: string) => inZone(Date.parse(iso)).toISOString().slice(0, 10)
