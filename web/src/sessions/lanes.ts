// The time line of a session as geometry: a lane for each server, calls that ran at one time below each other. Pure.

import type { LaneEvent } from '@/api/client'

export interface Mark {
  event: LaneEvent
  start: number // ms after the session began
  end: number // a running one ends now; what is over and has no duration is an instant
  row: number
}

export interface Lane {
  server: string | null // null: what the gateway answered by itself
  rows: number
  marks: Mark[] // by start
  errors: number
}

export interface Stretch {
  from: number
  to: number
}

const MOST_ROWS = 5 // a lane stays a lane; what would need more lies over the last row
const SHORTEST_MS = 10
const isOwn = (server: string | null) => server === null || server === 'aggregate'

const isFault = (event: LaneEvent) => event.outcome !== null && event.outcome !== 'answered'

/** Still running; a notification is over at once, and has no duration either. */
export const isRunning = (event: LaneEvent) => event.outcome === null

const endOf = ({ started_ms, duration_ms, outcome }: LaneEvent, nowMs: number) =>
  outcome === null && duration_ms === null ? Math.max(nowMs, started_ms) : started_ms + (duration_ms ?? 0)

/** `nowMs`: after the session began. */
export function lanesOf(events: readonly LaneEvent[], nowMs: number): Lane[] {
  const lanes = new Map<string | null, Lane>()
  const free = new Map<Lane, number[]>() // of each row, when it is free again
  const ordered = [...events].sort((a, b) => a.started_ms - b.started_ms)
  for (const event of ordered) {
    const server = isOwn(event.server) ? null : event.server
    const lane = lanes.get(server) ?? { server, rows: 1, marks: [], errors: 0 }
    lanes.set(server, lane)
    const rows = free.get(lane) ?? []
    free.set(lane, rows)
    const start = event.started_ms
    const end = endOf(event, nowMs)
    let row = rows.findIndex((until) => until <= start)
    if (row < 0) row = Math.min(rows.length, MOST_ROWS - 1)
    rows[row] = Math.max(rows[row] ?? 0, end)
    lane.rows = Math.max(lane.rows, row + 1)
    lane.marks.push({ event, start, end, row })
    if (isFault(event)) lane.errors += 1
  }
  // Servers in the order they were first asked; the gateway itself before them.
  return [...lanes.values()].sort((a, b) => Number(a.server !== null) - Number(b.server !== null))
}

/** From the beginning to the end of the session (`endedMs`, of one that is over) or of its last mark, with a little room. */
export function wholeOf(lanes: readonly Lane[], endedMs: number | null = null): Stretch {
  let to = Math.max(SHORTEST_MS, endedMs ?? 0)
  for (const lane of lanes) for (const mark of lane.marks) to = Math.max(to, mark.end)
  return { from: 0, to: to * 1.02 }
}

export const xOf = (ms: number, { from, to }: Stretch, width: number) => ((ms - from) / (to - from)) * width
export const msOf = (x: number, { from, to }: Stretch, width: number) => from + (x / width) * (to - from)

/** The mark at this place: on its row, or the nearest one within `reach` pixels. */
export function markAt(lane: Lane, x: number, row: number, stretch: Stretch, width: number, reach = 5): Mark | null {
  let found: Mark | null = null
  let nearest = reach
  for (const mark of lane.marks) {
    const [left, right] = [xOf(mark.start, stretch, width), xOf(mark.end, stretch, width)]
    if (left - reach > x) break
    const away = Math.max(left - x, x - right, 0) + Math.abs(mark.row - row) * 2
    if (away <= nearest) [found, nearest] = [mark, away]
  }
  return found
}

export function zoom(stretch: Stretch, whole: Stretch, factor: number, at = (stretch.from + stretch.to) / 2): Stretch {
  const width = Math.min((stretch.to - stretch.from) * factor, whole.to - whole.from)
  const share = (at - stretch.from) / (stretch.to - stretch.from)
  const from = Math.min(Math.max(at - width * share, whole.from), whole.to - width)
  return { from, to: from + Math.max(width, 1) }
}

/** Calls and errors in so many equal pieces of the whole: the overview. */
export function densityOf(lanes: readonly Lane[], whole: Stretch, pieces: number): { calls: number; errors: number }[] {
  const counted = Array.from({ length: pieces }, () => ({ calls: 0, errors: 0 }))
  for (const lane of lanes) {
    for (const mark of lane.marks) {
      const piece = counted[Math.min(Math.floor(xOf(mark.start, whole, pieces)), pieces - 1)]
      if (!piece) continue
      piece.calls += 1
      if (isFault(mark.event)) piece.errors += 1
    }
  }
  return counted
}

/** The next mark of a lane to the left or right, for the keyboard; at the end it stays. */
export function stepIn(lane: Lane, current: Mark | null, by: 1 | -1): Mark | null {
  const at = current
    ? lane.marks.findIndex((mark) => mark.event.id === current.event.id)
    : by > 0
      ? -1
      : lane.marks.length
  return lane.marks[Math.min(Math.max(at + by, 0), lane.marks.length - 1)] ?? null
}

/** The mark of another lane that began nearest to this one. */
export function nearestIn(lane: Lane, start: number): Mark | null {
  return lane.marks.reduce<Mark | null>(
    (best, mark) => (best && Math.abs(best.start - start) <= Math.abs(mark.start - start) ? best : mark),
    null,
  )
}
