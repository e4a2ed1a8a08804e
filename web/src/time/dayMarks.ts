// The line above the calls of a day, in a list that is ordered by time. Pure but for the zone.

import { dayOf } from './zone'

export interface DayMark {
  day: string // 2026-11-18
  at: string // a moment of it
}

export type Marked<Row> = Row | DayMark
export const isMark = <Row extends object>(item: Marked<Row>): item is DayMark => 'day' in item && 'at' in item

/** Where each day begins in rows that are in order of time: few days, many rows, so it jumps. */
export function dayStarts<Row>(rows: readonly Row[], momentOf: (row: Row) => string | null): { index: number; at: string }[] {
  const starts: { index: number; at: string }[] = []
  const dayAt = (index: number) => {
    const at = momentOf(rows[index] as Row)
    return at === null ? '' : dayOf(at)
  }
  let index = 0
  while (index < rows.length) {
    const day = dayAt(index)
    starts.push({ index, at: momentOf(rows[index] as Row) ?? '' })
    let [inside, outside] = [index, rows.length]
    if (dayAt(rows.length - 1) === day) return starts
    while (outside - inside > 1) {
      const middle = (inside + outside) >> 1
      if (dayAt(middle) === day) inside = middle
      else outside = middle
    }
    index = outside
  }
  return starts
}

/** The rows with a mark before each day. */
export function withDayMarks<Row>(rows: readonly Row[], momentOf: (row: Row) => string | null): Marked<Row>[] {
  const starts = dayStarts(rows, momentOf).filter(({ at }) => at)
  const items: Marked<Row>[] = rows.slice(0, starts[0]?.index ?? rows.length)
  starts.forEach(({ index, at }, n) => {
    items.push({ day: dayOf(at), at })
    for (const row of rows.slice(index, starts[n + 1]?.index)) items.push(row)
  })
  return items
}
