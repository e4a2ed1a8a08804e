import { describe, expect, it } from 'vitest'
import type { Session } from '@/api/client'
import { belongs, merged, sessionQuery } from './sessionQuery'
import { lastedMs } from './sessionWords'

const NOW = Date.parse('2026-11-15T12:00:00Z')
const session = (more: Partial<Session> = {}): Session => ({
  session_id: 's1',
  status: 'open',
  created_at: '2026-11-15T11:00:00Z',
  last_seen_at: '2026-11-15T11:30:00Z',
  ended_at: null,
  client_name: 'Cursor',
  client_version: '1.2',
  client_protocol: '2025-11-25',
  era: 'legacy',
  transport: 'http',
  principal: 'local',
  workspace: null,
  handshake_session_id: null,
  tool_call_count: 0,
  error_count: 0,
  total_tokens: 0,
  ...more,
})

describe('the filter of sessions', () => {
  it('is asked of the API as the address says, spans as moments', () => {
    expect(sessionQuery({ status: 'open', since: '1h', q: 'cur', other: 'x' }, NOW)).toEqual({
      status: 'open',
      since: '2026-11-15T11:00:00.000Z',
      q: 'cur',
    })
  })
  it.each([
    [{}, true],
    [{ status: 'closed' }, false],
    [{ era: 'legacy' }, true],
    [{ client: 'cursor' }, false],
    [{ q: 'CURS' }, true],
    [{ q: 'nobody' }, false],
    [{ since: '15m' }, false],
    [{ since: '1h' }, true],
    [{ until: '2026-11-15T10:00:00Z' }, false],
  ])('%j takes a new session: %s', (query, isTaken) => expect(belongs(query, session(), NOW)).toBe(isTaken))
})

it('what is told later replaces, and the newest stay on top', () => {
  const older = session({ session_id: 's0', created_at: '2026-11-15T10:00:00Z' })
  const rows = merged(
    [session(), older],
    [session({ tool_call_count: 3 }), session({ session_id: 's2', created_at: '2026-11-15T11:59:00Z' })],
  )
  expect(rows.map((row) => [row.session_id, row.tool_call_count])).toEqual([
    ['s2', 0],
    ['s1', 3],
    ['s0', 0],
  ])
})

it('an open session lasts to now, a closed one to its end', () => {
  expect(lastedMs(session(), NOW)).toBe(3_600_000)
  expect(lastedMs(session({ status: 'closed', ended_at: '2026-11-15T11:01:00Z' }), NOW)).toBe(60_000)
})
