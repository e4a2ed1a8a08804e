// The filter is the address: what a page shows is written in its query, so that a link can be shared and back and
// forward work. `?server=demo&not_outcome=answered&since=1h` reads: of demo, not answered, in the last hour. A key given
// several times means any of its values. Pure: query in, terms out, and the API's parameters out of those.

import type { LocationQuery, LocationQueryRaw } from 'vue-router'
import type { CallQuery } from '@/api/client'

// In the address -> in the API.
const API_NAMES = {
  sessionId: 'session_id',
  server: 'server',
  tool: 'tool',
  method: 'method',
  outcome: 'outcome',
  client: 'client',
  error_code: 'error_code',
} as const

export type TermKey = keyof typeof API_NAMES
export const TERM_KEYS = Object.keys(API_NAMES) as TermKey[]

// From so much to so much, both inclusive; in the address as in the API.
export const LIMIT_KEYS = [
  'min_duration_ms',
  'max_duration_ms',
  'min_tokens',
  'max_tokens',
  'min_rows',
  'max_rows',
] as const
export type LimitKey = (typeof LIMIT_KEYS)[number]
export type ScalarKey = 'q' | 'since' | 'until' | 'id' | LimitKey
export const SCALAR_KEYS: ScalarKey[] = ['q', 'since', 'until', 'id', ...LIMIT_KEYS]

export const ORDERS = {
  newest: 'Newest first',
  oldest: 'Oldest first',
  slowest: 'Slowest first',
  fastest: 'Fastest first',
  most_tokens: 'Most tokens',
  fewest_tokens: 'Fewest tokens',
  most_rows: 'Most rows',
  fewest_rows: 'Fewest rows',
} as const
export type Order = keyof typeof ORDERS

// What went wrong. What the gateway refused did not: it did its job.
const ERROR_OUTCOMES = ['tool_error', 'failed', 'lost']

export interface Term {
  key: TermKey
  value: string
  isExcluded: boolean
}

const UNITS_S: Record<string, number> = { s: 1, m: 60, h: 3600, d: 86_400 }
const RELATIVE = /^(\d+)([smhd])$/

const all = (query: LocationQuery, key: string): string[] =>
  [query[key] ?? []].flat().filter((value): value is string => typeof value === 'string')

const nameOf = (key: TermKey, isExcluded: boolean) => (isExcluded ? `not_${key}` : key)
const valuesOrNone = (values: string[]) => (values.length ? values : undefined)

export function termsOf(query: LocationQuery): Term[] {
  return TERM_KEYS.flatMap((key) =>
    [false, true].flatMap((isExcluded) =>
      all(query, nameOf(key, isExcluded)).map((value) => ({ key, value, isExcluded })),
    ),
  )
}

export const scalarOf = (query: LocationQuery, key: ScalarKey): string | undefined => all(query, key)[0] || undefined

/** The query without this value of this key, wanted or not. */
export function withoutTerm(query: LocationQuery, { key, value }: Term): LocationQueryRaw {
  const kept = (name: string) => valuesOrNone(all(query, name).filter((one) => one !== value))
  return { ...query, [key]: kept(key), [nameOf(key, true)]: kept(nameOf(key, true)) }
}

/** The query with this term, once; its opposite goes. */
export function withTerm(query: LocationQuery, term: Term): LocationQueryRaw {
  const rest = withoutTerm(query, term)
  const name = nameOf(term.key, term.isExcluded)
  return { ...rest, [name]: [...((rest[name] as string[] | undefined) ?? []), term.value] }
}

/** "15m" becomes the moment that long before now; a moment stays what it is. */
export function momentOf(text: string, nowMs: number): string {
  const found = RELATIVE.exec(text)
  if (!found) return text
  return new Date(nowMs - Number(found[1]) * (UNITS_S[found[2] ?? ''] ?? 0) * 1000).toISOString()
}

/** What is no order counts as none. */
export function orderOf(query: LocationQuery): Order {
  const named = all(query, 'order')[0] ?? ''
  return named in ORDERS ? (named as Order) : 'newest'
}

export const isByTime = (order: Order) => order === 'newest' || order === 'oldest'

/** Whether the outcomes asked for are those of errors, and no others. */
export function isErrorsOnly(query: LocationQuery): boolean {
  const wanted = all(query, 'outcome')
  return wanted.length === ERROR_OUTCOMES.length && ERROR_OUTCOMES.every((outcome) => wanted.includes(outcome))
}

/** The query with errors only, or with any outcome. */
export function withErrorsOnly(query: LocationQuery, isOnly: boolean): LocationQueryRaw {
  return { ...query, outcome: isOnly ? ERROR_OUTCOMES : undefined, not_outcome: undefined }
}

export function apiQuery(query: LocationQuery, nowMs: number): CallQuery {
  const asked: Record<string, string | string[]> = {}
  for (const { key, value, isExcluded } of termsOf(query)) {
    const name = isExcluded ? `not_${API_NAMES[key]}` : API_NAMES[key]
    asked[name] = [...((asked[name] as string[] | undefined) ?? []), value]
  }
  for (const key of SCALAR_KEYS) {
    const value = scalarOf(query, key)
    if (value) asked[key] = key === 'since' || key === 'until' ? momentOf(value, nowMs) : value
  }
  return asked as CallQuery
}
