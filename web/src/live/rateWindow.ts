// Calls, errors, refusals and p95 per step of time, for the small charts. Pure; the clock is an argument.

import type { RingRow } from './rowRing'

export interface TimedRow extends RingRow {
  ok: boolean | null
  duration_ms: number | null
}

export interface RateSeries {
  times: number[] // seconds since 1970, start of each step
  rate: number[] // calls per second
  errors: number[] // errors per second, without what was refused
  refused: number[] // refused by the gateway, per second
  p95: (number | null)[] // milliseconds
}

export function percentile(values: number[], share: number): number | null {
  if (!values.length) return null
  const sorted = Float64Array.from(values).sort()
  return sorted[Math.min(sorted.length - 1, Math.ceil(share * sorted.length) - 1)] ?? null
}

interface Step {
  calls: number
  errors: number
  refused: number
  p95: number | null // of a past step, told by the record
  durations: number[] // of a step we saw ourselves
}

export interface PastStep {
  start: string
  calls: number
  errors: number // the refused ones among them
  refused: number
  p95_ms: number | null
}

// More samples per step than this change p95 by less than a pixel, and cost memory in a burst.
const MOST_SAMPLES = 500

export class RateWindow {
  private steps = new Map<number, Step>()
  private seededUntilS = 0

  constructor(
    readonly windowS: number,
    readonly stepS: number,
  ) {}

  /** Takes the past from the record's sums; rows that ended before `untilS` are in them and not counted again. */
  seed(past: PastStep[], untilS: number) {
    this.seededUntilS = untilS
    for (const at of this.steps.keys()) if (at < untilS) this.steps.delete(at)
    for (const { start, calls, errors, refused, p95_ms } of past) {
      const at = Date.parse(start) / 1000
      if (at < untilS && calls)
        this.steps.set(at, { calls, errors: errors - refused, refused, p95: p95_ms, durations: [] })
    }
  }

  stepOf(ms: number): number {
    return Math.floor(ms / 1000 / this.stepS) * this.stepS
  }

  add(row: TimedRow) {
    if (row.timestamp === null || row.outcome === null) return
    const at = this.stepOf(Date.parse(row.timestamp) + (row.duration_ms ?? 0))
    if (at < this.seededUntilS) return
    let step = this.steps.get(at)
    if (!step) this.steps.set(at, (step = { calls: 0, errors: 0, refused: 0, p95: null, durations: [] }))
    step.calls += 1
    if (row.outcome === 'refused') step.refused += 1
    else if (row.ok === false) step.errors += 1
    if (row.duration_ms !== null) {
      if (step.durations.length < MOST_SAMPLES) step.durations.push(row.duration_ms)
      else step.durations[step.calls % MOST_SAMPLES] = row.duration_ms
    }
  }

  /** Where the window begins. */
  firstStep(nowMs: number): number {
    return this.stepOf(nowMs) - this.windowS + this.stepS
  }

  /** Of the calls that were seen here; the record knows those before as well. */
  p95(nowMs: number): number | null {
    const first = this.firstStep(nowMs)
    return percentile(
      [...this.steps].flatMap(([at, step]) => (at < first ? [] : step.durations)),
      0.95,
    )
  }

  series(nowMs: number): RateSeries {
    const last = this.stepOf(nowMs)
    const first = this.firstStep(nowMs)
    for (const at of this.steps.keys()) if (at < first) this.steps.delete(at)
    const series: RateSeries = { times: [], rate: [], errors: [], refused: [], p95: [] }
    for (let at = first; at <= last; at += this.stepS) {
      const step = this.steps.get(at)
      series.times.push(at)
      series.rate.push((step?.calls ?? 0) / this.stepS)
      series.errors.push((step?.errors ?? 0) / this.stepS)
      series.refused.push((step?.refused ?? 0) / this.stepS)
      series.p95.push(step ? (step.p95 ?? percentile(step.durations, 0.95)) : null)
    }
    return series
  }
}
