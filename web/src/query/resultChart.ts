// What of a result can be drawn: numbers over time when there is a column of times, else numbers by name. Pure.

import type { QueryAnswer } from '@/api/client'

export interface TimePicture {
  kind: 'time'
  times: number[] // seconds, rising
  series: { label: string; values: (number | null)[] }[]
}
export interface NamePicture {
  kind: 'names'
  label: string
  bars: { name: string; value: number }[]
}

const MOST_SERIES = 4 // more lines than that nobody tells apart
const MOST_BARS = 30
const A_TIME = /^\d{4}-\d\d-\d\d([T ]\d\d:\d\d(:\d\d(\.\d+)?)?)?(Z|[+-]\d\d(:?\d\d)?)?$/

const column = (answer: QueryAnswer, index: number) => answer.rows.map((row) => row[index])
const isFilled = (values: unknown[]) => values.some((value) => value !== null)

function isNumbers(values: unknown[]): boolean {
  return isFilled(values) && values.every((value) => value === null || typeof value === 'number')
}

function isTimes(values: unknown[]): boolean {
  return values.length > 1 && values.every((value) => typeof value === 'string' && A_TIME.test(value))
}

/** The record's times have no zone of their own: they are UTC. */
export function secondsOf(text: string): number {
  const spelled = text.replace(' ', 'T')
  const hasZone = /(Z|[+-]\d\d(:?\d\d)?)$/.test(spelled.slice(10))
  return Date.parse(hasZone || spelled.length === 10 ? spelled : `${spelled}Z`) / 1000
}

export function pictureOf(answer: QueryAnswer): TimePicture | NamePicture | null {
  const columns = answer.columns.map((_, index) => column(answer, index))
  const numbers = columns.flatMap((values, index) => (isNumbers(values) ? [index] : []))
  if (!numbers.length || !answer.rows.length) return null
  const timeAt = columns.findIndex(isTimes)
  if (timeAt >= 0) {
    const rows = answer.rows
      .map((row) => ({ row, at: secondsOf(row[timeAt] as string) }))
      .filter(({ at }) => Number.isFinite(at))
      .sort((a, b) => a.at - b.at)
    return {
      kind: 'time',
      times: rows.map(({ at }) => at),
      series: numbers.slice(0, MOST_SERIES).map((index) => ({
        label: answer.columns[index] ?? '',
        values: rows.map(({ row }) => row[index] as number | null),
      })),
    }
  }
  const valueAt = numbers[0] as number
  const named = answer.columns.flatMap((_, index) => (numbers.includes(index) ? [] : [index]))
  if (!named.length) return null
  return {
    kind: 'names',
    label: answer.columns[valueAt] ?? '',
    bars: answer.rows.slice(0, MOST_BARS).map((row) => ({
      name: named.map((index) => String(row[index] ?? 'none')).join(' · '),
      value: (row[valueAt] as number | null) ?? 0,
    })),
  }
}
