import { describe, expect, it } from 'vitest'
import { formatAge, formatAgo } from './time'

const NOW = Date.parse('2026-11-16T12:00:00Z')

describe('a moment in the past', () => {
  it.each([
    ['2026-11-16T11:59:13Z', '47 s', '47 s ago'],
    ['2026-11-16T11:57:59Z', '2 min', '2 min ago'],
    ['2026-11-16T09:00:00Z', '3 h', '3 h ago'],
    ['2026-11-12T12:00:00Z', '4 d', '4 d ago'],
    ['2026-11-16T12:00:03Z', '0 s', 'now'], // the clock of the server is ahead
  ])('%s is told as an age, and as how long ago it was', (at, age, ago) => {
    expect(formatAge(at, NOW)).toBe(age)
    expect(formatAgo(at, NOW)).toBe(ago)
  })
})
