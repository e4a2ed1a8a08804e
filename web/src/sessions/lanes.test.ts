import { describe, expect, it } from 'vitest'
import type { LaneEvent } from '@/api/client'
import { densityOf, lanesOf, markAt, nearestIn, stepIn, wholeOf, zoom } from './lanes'

const event = (
  id: string,
  started_ms: number,
  duration_ms: number | null,
  more: Partial<LaneEvent> = {},
): LaneEvent => ({
  id,
  started_ms,
  duration_ms,
  kind: 'request',
  sender: 'client',
  method: 'tools/call',
  server: 'demo',
  tool: 'demo__query',
  outcome: duration_ms === null ? null : 'answered',
  error_code: null,
  ...more,
})

describe('lanes', () => {
  it('are one for each server, the gateway itself first, the servers as they were asked', () => {
    const lanes = lanesOf(
      [
        event('1', 0, 1, { server: 'b' }),
        event('2', 5, 1, { server: 'aggregate' }),
        event('3', 6, 1, { server: 'a' }),
        event('4', 7, 1, { server: null }),
      ],
      0,
    )
    expect(lanes.map((lane) => [lane.server, lane.marks.length])).toEqual([
      [null, 2],
      ['b', 1],
      ['a', 1],
    ])
  })
  it('put what ran at one time below each other, and what came after back on top', () => {
    const [lane] = lanesOf([event('1', 0, 10), event('2', 5, 10), event('3', 10, 5)], 0)
    expect(lane?.marks.map((mark) => mark.row)).toEqual([0, 1, 0])
    expect(lane?.rows).toBe(2)
  })
  it('do not grow without end', () => {
    const [lane] = lanesOf(
      Array.from({ length: 50 }, (_, n) => event(String(n), n, 1000)),
      0,
    )
    expect(lane?.rows).toBe(5)
  })
  it('let what runs reach to now', () => expect(lanesOf([event('1', 10, null)], 250)[0]?.marks[0]?.end).toBe(250))
  it('show what is over and took no time as an instant, however long ago it was', () => {
    const said = event('1', 10, null, { kind: 'notification', method: 'notifications/message', outcome: 'answered' })
    const lost = event('2', 30, null, { outcome: 'lost' })
    const [lane] = lanesOf([said, lost], 720_000)
    expect(lane?.marks.map((mark) => [mark.start, mark.end])).toEqual([
      [10, 10],
      [30, 30],
    ])
    expect(wholeOf([lane!]).to).toBeLessThan(100)
  })
  it('count what was not answered; what runs is no error', () => {
    const [lane] = lanesOf([event('1', 0, 1), event('2', 2, 1, { outcome: 'refused' }), event('3', 3, null)], 5)
    expect(lane?.errors).toBe(1)
  })
  it('lay out ten thousand calls', () => {
    const many = Array.from({ length: 10_000 }, (_, n) => event(String(n), n * 3, n % 50, { server: `s${n % 12}` }))
    const lanes = lanesOf(many, 0)
    expect(lanes).toHaveLength(12)
    expect(wholeOf(lanes).to).toBeGreaterThan(29_997)
    expect(densityOf(lanes, wholeOf(lanes), 160).reduce((sum, piece) => sum + piece.calls, 0)).toBe(10_000)
  })
})

describe('the axis', () => {
  it('ends with a session that is over, also when its last call was earlier', () => {
    expect(wholeOf(lanesOf([event('1', 0, 5)], 0), 7_000)).toEqual({ from: 0, to: 7_140 })
  })
  it('shows what ended after the session', () => {
    expect(wholeOf(lanesOf([event('1', 0, 9_000)], 0), 7_000).to).toBeGreaterThan(9_000)
  })
})

describe('the mark at a place', () => {
  const [lane] = lanesOf([event('short', 100, 0), event('long', 200, 400)], 0)
  const all = { from: 0, to: 1000 }
  it('is the one under it', () => expect(markAt(lane!, 300, 0, all, 1000)?.event.id).toBe('long'))
  it('is the one close by, however thin', () => expect(markAt(lane!, 103, 0, all, 1000)?.event.id).toBe('short'))
  it('is none where none is', () => expect(markAt(lane!, 150, 0, all, 1000)).toBeNull())
})

describe('zoom', () => {
  const whole = { from: 0, to: 1000 }
  it('keeps its place', () => expect(zoom(whole, whole, 0.5, 200)).toEqual({ from: 100, to: 600 }))
  it('never leaves the whole', () => {
    expect(zoom({ from: 900, to: 1000 }, whole, 4)).toEqual({ from: 600, to: 1000 })
    expect(zoom({ from: 400, to: 600 }, whole, 100)).toEqual(whole)
  })
})

describe('the keyboard', () => {
  const [lane] = lanesOf([event('a', 0, 1), event('b', 10, 1), event('c', 20, 1)], 0)
  const [a, , c] = lane!.marks
  it('goes from mark to mark and stops at the ends', () => {
    expect(stepIn(lane!, null, 1)?.event.id).toBe('a')
    expect(stepIn(lane!, a!, 1)?.event.id).toBe('b')
    expect(stepIn(lane!, c!, 1)?.event.id).toBe('c')
    expect(stepIn(lane!, null, -1)?.event.id).toBe('c')
  })
  it('finds the nearest of another lane', () => expect(nearestIn(lane!, 12)?.event.id).toBe('b'))
})
