import { describe, expect, it } from 'vitest'
import { inputOf, isoOf } from './localTime'
import { apiQuery, isErrorsOnly, momentOf, orderOf, termsOf, withErrorsOnly, withoutTerm, withTerm } from './terms'

const NOW = Date.parse('2026-11-15T12:00:00Z')

describe('filters in the address', () => {
  it('become terms, wanted and excluded', () => {
    expect(termsOf({ server: ['demo', 'shop'], not_outcome: 'answered' })).toEqual([
      { key: 'server', value: 'demo', isExcluded: false },
      { key: 'server', value: 'shop', isExcluded: false },
      { key: 'outcome', value: 'answered', isExcluded: true },
    ])
  })
  it('take a term once, however often it is clicked', () => {
    const term = { key: 'server', value: 'demo', isExcluded: false } as const
    expect(withTerm({ server: 'demo', q: 'x' }, term)).toMatchObject({ server: ['demo'], q: 'x' })
  })
  it('never want and exclude the same value', () => {
    const term = { key: 'server', value: 'demo', isExcluded: true } as const
    expect(withTerm({ server: ['demo', 'shop'] }, term)).toMatchObject({ server: ['shop'], not_server: ['demo'] })
  })
  it('keep the other values when one goes', () => {
    const term = { key: 'tool', value: 'a', isExcluded: false } as const
    expect(withoutTerm({ tool: ['a', 'b'] }, term).tool).toEqual(['b'])
    expect(withoutTerm({ tool: 'a' }, term).tool).toBeUndefined()
  })
  it('are asked of the API by its names, spans as moments', () => {
    expect(apiQuery({ sessionId: 's1', not_sessionId: 's2', since: '15m', q: 'orders', all: '1' }, NOW)).toEqual({
      session_id: ['s1'],
      not_session_id: ['s2'],
      since: '2026-11-15T11:45:00.000Z',
      q: 'orders',
    })
  })
  it('can be written into an input for local time and back', () => {
    expect(isoOf(inputOf('2026-11-15T11:45:00.000Z'))).toBe('2026-11-15T11:45:00.000Z')
    expect(inputOf('yesterday')).toBe('')
    expect(isoOf('')).toBeUndefined()
  })
  it('hold errors only as outcomes, which refusals are not among', () => {
    const errors = withErrorsOnly({ not_outcome: 'failed', q: 'x' }, true)
    expect(errors).toMatchObject({ outcome: ['tool_error', 'failed', 'lost'], not_outcome: undefined, q: 'x' })
    expect(isErrorsOnly(errors as never)).toBe(true)
    expect(isErrorsOnly({ outcome: ['failed', 'tool_error'] })).toBe(false)
    expect(withErrorsOnly(errors as never, false).outcome).toBeUndefined()
  })
  it('know their order, and are not asked for by it', () => {
    expect(orderOf({ order: 'slowest' })).toBe('slowest')
    expect(orderOf({ order: 'loudest' })).toBe('newest')
    expect(apiQuery({ order: 'slowest', min_tokens: '5', id: '01a1' }, NOW)).toEqual({ min_tokens: '5', id: '01a1' })
  })
  it('leave a moment as it is', () => expect(momentOf('2026-01-01T00:00:00Z', NOW)).toBe('2026-01-01T00:00:00Z'))
})
