// How long a call took, or has taken so far. Pure; "now" is an argument.

export interface Timed {
  timestamp: string | null
  duration_ms: number | null
  outcome: string | null
}

/** null: it is over and took no time that is known, as a notification does. */
export function elapsedMs({ timestamp, duration_ms, outcome }: Timed, nowMs: number): number | null {
  if (duration_ms !== null || outcome !== null) return duration_ms
  return Math.max(0, nowMs - Date.parse(timestamp ?? ''))
}
