import { afterEach, describe, expect, it } from 'vitest'
import { isMark, withDayMarks } from './dayMarks'
import { dayOf, zone } from './zone'

const rows = (...moments: string[]) => moments.map((at) => ({ id: at, at: undefined, timestamp: at }))
const marked = (moments: string[]) =>
  withDayMarks(rows(...moments), (row) => row.timestamp).map((item) => (isMark(item) ? item.day : item.id))

afterEach(() => void (zone.value = 'local'))

describe('days of a list', () => {
  it('have a line above the calls of each', () => {
    zone.value = 'utc'
    const [a, b, c, d] = ['2026-11-18T10:00:00Z', '2026-11-18T00:00:00Z', '2026-11-17T23:59:59Z', '2026-11-02T08:00:00Z'] as const
    expect(marked([a, b, c, d])).toEqual(['2026-11-18', a, b, '2026-11-17', c, '2026-11-02', d])
    expect(marked([d, c, b])).toEqual(['2026-11-02', d, '2026-11-17', c, '2026-11-18', b])
    expect(marked([])).toEqual([])
  })
  it('are those of the zone that is shown', () => {
    const at = '2026-11-18T00:30:00Z'
    zone.value = 'utc'
    expect(dayOf(at)).toBe('2026-11-18')
    zone.value = 'local'
    const told = new Date(at)
    expect(Number(dayOf(at).slice(8))).toBe(told.getDate())
  })
})
