// What differs between two answers of the same tool: rows of their tables, else lines of their text. Pure.

import type { Rows } from '@/call/rows'
import { readResult } from '@/call/result/readResult'
import { cellText } from '@/table/tableText'

export type Mark = 'same' | 'added' | 'removed' | 'changed'

export interface DiffRow {
  mark: Mark
  before: unknown[] | null // in the order of `labels`
  after: unknown[] | null
}

export interface TableDifference {
  kind: 'table'
  labels: string[]
  numbers: boolean[]
  rows: DiffRow[] // those of the new answer in its order, then those that are gone
  key: string | null // the column by which rows were matched; null: whole rows
}

export interface DiffLine {
  mark: 'same' | 'added' | 'removed'
  text: string
}

export interface TextDifference {
  kind: 'text'
  lines: DiffLine[]
}

export type Difference = TableDifference | TextDifference

const same = (a: unknown, b: unknown) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null)
const whole = (row: unknown[]) => JSON.stringify(row)

function aligned(rows: Rows, labels: string[]): unknown[][] {
  const places = labels.map((label) => rows.columns.findIndex((column) => column.label === label))
  return rows.rows.map((row) => places.map((place) => (place < 0 ? null : (row[place] ?? null))))
}

/** A column that names its rows: each value once, in both tables. The first one, or one that is called id. */
function keyOf(labels: string[], shared: Set<string>, before: unknown[][], after: unknown[][]): number {
  const isKey = (at: number) =>
    [before, after].every((rows) => {
      const values = rows.map((row) => row[at])
      return values.every((value) => value !== null) && new Set(values.map(cellText)).size === values.length
    })
  const fits = labels.map((_, at) => at).filter((at) => shared.has(labels[at] ?? '') && isKey(at))
  return fits.find((at) => /^id$|_id$/i.test(labels[at] ?? '')) ?? fits.find((at) => at === 0) ?? fits[0] ?? -1
}

export function tableDifference(old: Rows, now: Rows): TableDifference {
  const [oldLabels, newLabels] = [old, now].map((rows) => rows.columns.map((column) => column.label)) as [string[], string[]]
  const labels = [...new Set([...newLabels, ...oldLabels])]
  const shared = new Set(newLabels.filter((label) => oldLabels.includes(label)))
  const [before, after] = [aligned(old, labels), aligned(now, labels)]
  const numbers = labels.map((label) => [old, now].every((rows) => rows.columns.find((one) => one.label === label)?.isNumber ?? true))
  // A value that is the key in a result of one row may be the very thing that changed.
  const key = Math.min(before.length, after.length) > 1 ? keyOf(labels, shared, before, after) : -1
  const nameOf = (row: unknown[]) => (key < 0 ? whole(row) : cellText(row[key]))
  const waiting = new Map<string, unknown[][]>()
  for (const row of before) waiting.set(nameOf(row), [...(waiting.get(nameOf(row)) ?? []), row])
  const rows = after.map((row): DiffRow => {
    const match = waiting.get(nameOf(row))?.shift()
    if (!match) return { mark: 'added', before: null, after: row }
    return { mark: match.every((value, at) => same(value, row[at])) ? 'same' : 'changed', before: match, after: row }
  })
  const gone = [...waiting.values()].flat()
  if (key < 0 && rows.length === 1 && gone.length === 1 && rows[0]?.mark === 'added') {
    rows[0] = { mark: 'changed', before: gone.pop() ?? null, after: rows[0].after }
  }
  return {
    kind: 'table',
    labels,
    numbers,
    rows: [...rows, ...gone.map((row): DiffRow => ({ mark: 'removed', before: row, after: null }))],
    key: key < 0 ? null : (labels[key] ?? null),
  }
}

const MOST_CELLS = 4_000_000 // of the matrix below; beyond it, what differs is told as one block

/** The longest common lines, after what both begin and end with. */
export function lineDifference(old: string, now: string): DiffLine[] {
  const [a, b] = [old.split('\n'), now.split('\n')]
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) head++
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const line = (mark: DiffLine['mark']) => (text: string): DiffLine => ({ mark, text })
  return [
    ...a.slice(0, head).map(line('same')),
    ...middle(a.slice(head, a.length - tail), b.slice(head, b.length - tail)),
    ...a.slice(a.length - tail).map(line('same')),
  ]
}

function middle(a: string[], b: string[]): DiffLine[] {
  const lines: DiffLine[] = []
  let [x, y] = [0, 0]
  if (a.length && b.length && a.length * b.length <= MOST_CELLS) {
    const width = b.length + 1
    const common = new Uint16Array((a.length + 1) * width)
    const at = (row: number, column: number) => common[row * width + column] ?? 0
    for (let row = a.length - 1; row >= 0; row--) {
      for (let column = b.length - 1; column >= 0; column--) {
        common[row * width + column] =
          a[row] === b[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1))
      }
    }
    while (x < a.length && y < b.length) {
      if (a[x] === b[y]) {
        lines.push({ mark: 'same', text: a[x++] ?? '' })
        y++
      } else if (at(x + 1, y) >= at(x, y + 1)) lines.push({ mark: 'removed', text: a[x++] ?? '' })
      else lines.push({ mark: 'added', text: b[y++] ?? '' })
    }
  }
  for (; x < a.length; x++) lines.push({ mark: 'removed', text: a[x] ?? '' })
  for (; y < b.length; y++) lines.push({ mark: 'added', text: b[y] ?? '' })
  return lines
}

function textOf(result: unknown): string {
  const { texts, parts } = readResult(result)
  // JSON in one line would be one line that differs.
  const isData = parts.some((part) => part.kind === 'json' || part.kind === 'table' || part.kind === 'facts')
  return texts.length && !isData ? texts.join('\n\n') : (JSON.stringify(result, null, 2) ?? '')
}

export function difference(old: unknown, now: unknown): Difference {
  const [before, after] = [old, now].map((result) => readResult(result).parts.filter((part) => part.kind === 'table'))
  if (before?.length === 1 && after?.length === 1 && before[0] && after[0]) return tableDifference(before[0].rows, after[0].rows)
  return { kind: 'text', lines: lineDifference(textOf(old), textOf(now)) }
}

/** "1 added, 2 changed", or "" when both are the same. */
export function inWords(found: Difference): string {
  const marks: { mark: Mark }[] = found.kind === 'table' ? found.rows : found.lines
  const noun = found.kind === 'table' ? 'row' : 'line'
  return (['added', 'removed', 'changed'] as const)
    .map((mark) => ({ mark, count: marks.filter((one) => one.mark === mark).length }))
    .filter(({ count }) => count)
    .map(({ mark, count }) => `${count} ${count === 1 ? noun : `${noun}s`} ${mark}`)
    .join(', ')
}
