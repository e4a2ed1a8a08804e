import { describe, expect, it } from 'vitest'
import type { Call } from '@/api/client'
import { matches } from './matches'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const call = {
  id: '01a1ec0b-0ce0-7730-82e3-5e7c072aea88',
  duration_ms: 250,
  request_tokens: 20,
  response_tokens: null,
  rows: null,
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
    [{ id: '01a1ec0b' }, true],
    [{ id: '01A1EC0B0CE0' }, true],
    [{ id: '01a1ec0c' }, false],
    [{ min_duration_ms: '250', max_duration_ms: '250' }, true],
    [{ min_duration_ms: '251' }, false],
    [{ max_tokens: '19' }, false],
    [{ min_tokens: '20' }, true],
    [{ min_rows: '0' }, false],
  ])('with the address asking %j is counted: %s', (query, isCounted) => {
    expect(matches(query, call, NOW)).toBe(isCounted)
  })
})
