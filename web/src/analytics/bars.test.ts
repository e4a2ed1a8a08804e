import { expect, test } from 'vitest'
import type { Stats } from '@/api/client'
import { errorBars, serverBars, toolBars } from './bars'

const sums = { calls: 4, errors: 3, refused: 1, tokens: 9, sessions: 1, p50_ms: 1, p95_ms: 2, p99_ms: 3 }
const stats = (told: Partial<Stats>): Stats => ({
  since: '2026-11-15T10:00:00Z',
  until: '2026-11-15T11:00:00Z',
  totals: sums,
  bucket_s: 60,
  buckets: [],
  by_tool: [],
  by_server: [],
  by_method: [],
  by_client: [],
  by_error: [],
  ...told,
})
const failed = (outcome: string, error_code: string | null) => ({ ...sums, outcome, error_code })

test('an error without a code is named by who reported it', () => {
  const bars = errorBars(stats({ by_error: [failed('tool_error', null), failed('failed', null), failed('lost', null)] }))
  expect(bars.map((bar) => [bar.name, bar.detail])).toEqual([
    ["the tool's own error", 'tool error'],
    ["the server's own error", 'failed'],
    ['lost', undefined],
  ])
})

test('a click on it shows exactly those: of that outcome, and without a code', () => {
  const [own, coded] = errorBars(
    stats({ by_error: [failed('tool_error', null), failed('tool_error', 'source.unknown_column')] }),
  )
  expect(own?.terms).toEqual([
    { key: 'outcome', value: 'tool_error' },
    { key: 'error_code', value: '' },
  ])
  expect(coded).toMatchObject({ name: 'source.unknown_column', terms: [{ key: 'error_code', value: 'source.unknown_column' }] })
})

test('what no server was asked for is said in words, and a server of that name is still itself', () => {
  const bars = serverBars(stats({ by_server: [{ ...sums, server: null }, { ...sums, server: 'none' }] }))
  expect(bars.map((bar) => [bar.name, bar.terms])).toEqual([
    ['no server', [{ key: 'server', value: '' }]],
    ['none', [{ key: 'server', value: 'none' }]],
  ])
})

test('what was refused is not among the errors of a tool', () => {
  const [bar] = toolBars(stats({ by_tool: [{ ...sums, server: 'demo', tool: 'demo__query' }] }))
  expect([bar?.calls, bar?.errors, bar?.refused]).toEqual([4, 2, 1])
})
