import { describe, expect, it } from 'vitest'
import { blankFor } from '@/arguments/blankArguments'
import { argumentsOf, calledName, clientName, faultTitle, plainAdvice } from './callWords'

const fault = (more: object) => ({
  outcome: 'failed' as const,
  ended_by: 'upstream' as const,
  server: 'rich',
  error_code: null,
  ...more,
})

describe('a call in words', () => {
  it('has the arguments that were sent, and none when the record cut them', () => {
    expect(argumentsOf({ request_json: '{"name":"t","arguments":{"a":1}}' })).toEqual({ a: 1 })
    expect(argumentsOf({ request_json: '{"name":"t"}' })).toEqual({})
    expect(argumentsOf({ request_json: '{"name":"t","argum' })).toBeNull()
  })
  it('is called what was asked for, though nobody offers it', () => {
    expect(calledName({ tool: null, method: 'tools/call', request_json: '{"name":"nope"}' })).toBe('nope')
    expect(calledName({ tool: null, method: 'tools/list', request_json: null })).toBe('tools/list')
  })
  it('says who must act', () => {
    expect(faultTitle(fault({ error_code: 'caller.unknown_tool' }))).toBe('The call itself was wrong')
    expect(faultTitle(fault({}))).toBe('rich answered with an error')
    expect(faultTitle(fault({ outcome: 'cancelled', ended_by: 'client' }))).toBe('Cancelled by the client')
    expect(plainAdvice(fault({ outcome: 'lost' }))).toContain('not known')
  })
  it('names a client shortly', () => {
    expect(clientName('Mozilla/5.0 (X11; Linux)')).toBe('browser')
    expect(clientName('claude-code/2.1 (cli)')).toBe('claude-code/2.1')
    expect(clientName(null)).toBe('client')
  })
})

it('arguments to fill in are what the tool requires', () => {
  const properties = {
    query: { type: 'string' },
    n: { type: ['integer', 'null'] },
    kind: { enum: ['a', 'b'] },
    free: {},
    extra: { type: 'string' },
  }
  expect(blankFor({ properties, required: ['query', 'n', 'kind', 'free'] })).toEqual({
    query: '',
    n: 0,
    kind: 'a',
    free: null,
  })
  expect(blankFor(undefined)).toEqual({})
})
