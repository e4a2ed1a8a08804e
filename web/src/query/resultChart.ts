// What of a result can be drawn: numbers over time when there is a column of times, else numbers by name. Pure.

import type { QueryAnswer } from '@/api/client'

export interface TimePicture {
  kind: 'time'
  draw: 'bars' | 'points' // bars for buckets, which are empty where there is no row; points for single moments
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

const MOST_BUCKETS = 5_000 // beyond it a grid is chance: whole seconds are one too

const common = (a: number, b: number): number => (b === 0 ? a : common(b, a % b))

/** Whether moments in order lie on a grid, as buckets of time do. */
function isGrid(times: readonly number[]): boolean {
  const steps = times.slice(1).map((time, n) => time - (times[n] ?? 0))
  if (!steps.length || steps.some((step) => step <= 0 || !Number.isInteger(step))) return false
  return steps.reduce((sum, step) => sum + step, 0) / steps.reduce(common) <= MOST_BUCKETS
}

const height = (values: (number | null)[]) => Math.max(...values.map((value) => value ?? 0))

function overTime(times: number[], series: TimePicture['series']): TimePicture {
  if (!isGrid(times)) return { kind: 'time', draw: 'points', times, series }
  // The last bucket ends after it began: without the end the chart would cut its bar off.
  const end = (times.at(-1) ?? 0) + Math.min(...times.slice(1).map((time, n) => time - (times[n] ?? 0)))
  return {
    kind: 'time',
    draw: 'bars',
    times: [...times, end],
    series: series
      .map(({ label, values }) => ({ label, values: [...values, null] }))
      .sort((a, b) => height(b.values) - height(a.values)), // the tallest behind
  }
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
    const series = numbers.slice(0, MOST_SERIES).map((index) => ({
      label: answer.columns[index] ?? '',
      values: rows.map(({ row }) => row[index] as number | null),
    }))
    return overTime(
      rows.map(({ at }) => at),
      series,
    )
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
