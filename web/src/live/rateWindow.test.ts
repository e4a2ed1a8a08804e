import { describe, expect, it } from 'vitest'
import { percentile, RateWindow } from './rateWindow'

const NOW = 1_000_000_000_000
const call = (agoS: number, ok = true, duration_ms = 10, outcome = ok ? 'answered' : 'failed') => ({
  id: String(agoS),
  timestamp: new Date(NOW - agoS * 1000 - duration_ms).toISOString(),
  outcome,
  ok,
  duration_ms,
  response_tokens: null,
})

describe('the rates', () => {
  it('count a call in the step in which it ended', () => {
    const rates = new RateWindow(20, 5)
    rates.add(call(0))
    rates.add(call(3, false))
    const series = rates.series(NOW)
    expect(series.times).toHaveLength(4)
    expect(series.rate).toEqual([0, 0, 0.2, 0.2])
    expect(series.errors).toEqual([0, 0, 0.2, 0])
  })
  it('forget what is older than the window', () => {
    const rates = new RateWindow(20, 5)
    rates.add(call(25))
    expect(rates.series(NOW).rate).toEqual([0, 0, 0, 0])
  })
  it('do not count a call twice that the record counted already', () => {
    const rates = new RateWindow(20, 5)
    const past = { start: new Date(NOW - 5_000).toISOString(), calls: 10, errors: 3, refused: 2, p95_ms: 42 }
    rates.seed([past], NOW / 1000)
    rates.add(call(3))
    const series = rates.series(NOW)
    expect(series.rate).toEqual([0, 0, 2, 0])
    expect(series.p95).toEqual([null, null, 42, null])
    expect([series.errors[2], series.refused[2]]).toEqual([0.2, 0.4])
  })
  it('believe the record when it is asked again: what it does not have was not', () => {
    const rates = new RateWindow(20, 5)
    rates.add(call(8))
    rates.seed([], NOW / 1000)
    expect(rates.series(NOW).rate).toEqual([0, 0, 0, 0])
  })
  it('count what was refused apart: the gateway did what it is for', () => {
    const rates = new RateWindow(20, 5)
    rates.add(call(0, false, 1, 'refused'))
    rates.add(call(0, false, 1, 'tool_error'))
    const { errors, refused } = rates.series(NOW)
    expect([errors.at(-1), refused.at(-1)]).toEqual([0.2, 0.2])
  })
  it('know the 95th percentile of all their calls, and not of the last step alone', () => {
    const rates = new RateWindow(20, 5)
    for (let n = 0; n < 50; n++) rates.add(call(12, true, 1_000))
    for (let n = 0; n < 50; n++) rates.add(call(0, true, 10))
    expect(rates.p95(NOW)).toBe(1_000)
  })
  it('know the 95th percentile', () => {
    expect(percentile([], 0.95)).toBeNull()
    expect(percentile([5], 0.95)).toBe(5)
    expect(percentile(Array.from({ length: 100 }, (_, n) => 100 - n), 0.95)).toBe(95)
  })
})
