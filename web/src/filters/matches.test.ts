import { describe, expect, it } from 'vitest'
import type { Call } from '@/api/client'
import { matches } from './matches'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const call = {
  id: '1',
  timestamp: '2026-11-15T11:59:00Z',
  session_id: 's1',
  server: 'demo',
  tool: 'demo__query',
  method: 'tools/call',
  outcome: 'answered',
  client: 'sdk',
  error_code: null,
  arguments: '{"query":"SELECT 1"}',
  sql: 'SELECT 1',
  error: null,
} as Call

describe('a row that comes in', () => {
  it.each([
    [{}, true],
    [{ server: 'demo' }, true],
    [{ server: ['shop', 'demo'] }, true],
    [{ server: 'shop' }, false],
    [{ not_server: 'demo' }, false],
    [{ not_server: 'shop' }, true],
    [{ server: 'demo', outcome: 'failed' }, false],
    [{ error_code: '' }, true],
    [{ not_error_code: '' }, false],
    [{ since: '5m' }, true],
    [{ since: '30s' }, false],
    [{ until: '2026-11-15T11:59:00Z' }, false],
    [{ q: 'select' }, true],
    [{ q: 'delete' }, false],
  ])('with the address asking %j is counted: %s', (query, isCounted) => {
    expect(matches(query, call, NOW)).toBe(isCounted)
  })
})
