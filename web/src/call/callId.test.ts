import { expect, it } from 'vitest'
import { madeAt } from './callId'

it('an id tells when it was made', () => {
  expect(new Date(madeAt('01a1deeb-57a3-79e1-94ae-f532c2d2f591')).toISOString()).toBe('2026-11-15T11:15:27.779Z')
  expect(madeAt('abc')).toBe(0)
})
