// Points in time and spans of it, as people read them, in the zone that they chose. "Now" is an argument.

import { dayOf, zone, zoneOption, type Zone } from '@/time/zone'

const CLOCK = { hour: '2-digit', minute: '2-digit', second: '2-digit', fractionalSecondDigits: 3, hour12: false } as const
const DAY = { day: '2-digit', month: 'short' } as const
const LONG_DAY = { weekday: 'short', year: 'numeric', ...DAY } as const
const FORMS = { clock: CLOCK, day: DAY, longDay: LONG_DAY, whole: { ...LONG_DAY, ...CLOCK, timeZoneName: 'short' } } as const

// To make one costs more than to use it a hundred times.
const made = new Map<string, Intl.DateTimeFormat>()
function form(name: keyof typeof FORMS): Intl.DateTimeFormat {
  const key: `${string} ${Zone}` = `${name} ${zone.value}`
  let found = made.get(key)
  if (!found) made.set(key, (found = new Intl.DateTimeFormat('en-GB', { ...FORMS[name], timeZone: zoneOption() })))
  return found
}

export const MISSING = '–'
const DAY_MS = 86_400_000

/** 14:03:07.120, whatever the day. */
export const formatHour = (iso: string | null) => (iso ? form('clock').format(new Date(iso)) : MISSING)

/** 14:03:07.120 today, else with the day in front. */
export function formatClock(iso: string | null, nowMs = Date.now()): string {
  if (!iso) return MISSING
  const at = new Date(iso)
  const isToday = dayOf(iso) === dayOf(new Date(nowMs).toISOString())
  return isToday ? form('clock').format(at) : `${form('day').format(at)} ${form('clock').format(at).slice(0, 8)}`
}

/** 18 Nov */
export const formatShortDay = (iso: string | null) => (iso ? form('day').format(new Date(iso)) : MISSING)

/** Wed, 18 Nov 2026; today and yesterday say so. */
export function formatDay(iso: string, nowMs: number): string {
  const day = dayOf(iso)
  const near = { [dayOf(new Date(nowMs).toISOString())]: 'Today, ', [dayOf(new Date(nowMs - DAY_MS).toISOString())]: 'Yesterday, ' }
  return (near[day] ?? '') + form('longDay').format(new Date(iso))
}

export function formatWhole(iso: string | null): string {
  return iso ? form('whole').format(new Date(iso)) : MISSING
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
