import { expect, test } from 'vitest'
import { elapsedMs } from './elapsed'

const AT = Date.parse('2026-11-15T10:00:00Z')
const timed = (duration_ms: number | null, outcome: string | null) => ({
  timestamp: new Date(AT).toISOString(),
  duration_ms,
  outcome,
})

test('what runs has taken as long as it runs', () => expect(elapsedMs(timed(null, null), AT + 250)).toBe(250))
test('what is over took what it took', () => expect(elapsedMs(timed(4, 'failed'), AT + 250)).toBe(4))
test('a notification is over at once, and grows no older', () =>
  expect(elapsedMs(timed(null, 'answered'), AT + 720_000)).toBeNull())
