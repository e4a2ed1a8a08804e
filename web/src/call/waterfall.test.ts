import { describe, expect, it } from 'vitest'
import { barOf, ownTime, ticksOf } from './waterfall'

describe('the waterfall', () => {
  it('puts a hop where it was', () =>
    expect(barOf({ startMs: 25, durationMs: 50 }, 100)).toEqual({ left: 25, width: 50 }))
  it('shows the shortest hop, and keeps it inside', () => {
    const bar = barOf({ startMs: 100, durationMs: 0 }, 100)
    expect(bar.width).toBeGreaterThan(0)
    expect(bar.left + bar.width).toBeLessThanOrEqual(100)
  })
  it('lets a running hop reach to now', () =>
    expect(barOf({ startMs: 40, durationMs: null }, 100)).toEqual({ left: 40, width: 60 }))
  it('counts hops at one time once', () => {
    expect(
      ownTime(100, [
        { startMs: 10, durationMs: 40 },
        { startMs: 20, durationMs: 50 },
      ]),
    ).toBe(40)
  })
  it('has round marks', () => {
    expect(ticksOf(18)).toEqual([0, 5, 10, 15])
    expect(ticksOf(0)).toEqual([0])
  })
})
