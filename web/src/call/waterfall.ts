// Where the time of a call went: the whole of it, and each hop on the same scale. Pure.

export interface Span {
  startMs: number
  durationMs: number | null // null: not over
}

export interface Bar {
  left: number // percent
  width: number
}

const THINNEST = 0.6 // percent: a hop of microseconds is still a mark

export function barOf({ startMs, durationMs }: Span, totalMs: number): Bar {
  if (totalMs <= 0) return { left: 0, width: 100 }
  const left = Math.min(Math.max((startMs / totalMs) * 100, 0), 100 - THINNEST)
  const width = durationMs === null ? 100 - left : (durationMs / totalMs) * 100
  return { left, width: Math.min(Math.max(width, THINNEST), 100 - left) }
}

/** What no hop accounts for: the gateway's own time. Hops at one time count once. */
export function ownTime(totalMs: number, spans: readonly Span[]): number {
  const ends = spans
    .map(({ startMs, durationMs }): [number, number] => [
      startMs,
      Math.min(startMs + (durationMs ?? Infinity), totalMs),
    ])
    .sort((a, b) => a[0] - b[0])
  let covered = 0
  let until = 0
  for (const [start, end] of ends) {
    covered += Math.max(0, end - Math.max(start, until))
    until = Math.max(until, end)
  }
  return Math.max(0, totalMs - covered)
}

/** Round marks of a scale: 0, 5, 10, 15 ms for 18 ms. */
export function ticksOf(totalMs: number, about = 4): number[] {
  if (totalMs <= 0) return [0]
  const rough = totalMs / about
  const power = 10 ** Math.floor(Math.log10(rough))
  const step = [1, 2, 5, 10].map((factor) => factor * power).find((size) => size >= rough) ?? rough
  return Array.from({ length: Math.floor(totalMs / step) + 1 }, (_, n) => n * step)
}
