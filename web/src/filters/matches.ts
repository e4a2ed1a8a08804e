// Whether a row that just came in would be among those the address asks for. The server decides in the end; this only
// counts what is announced as new. Pure.

import type { LocationQuery } from 'vue-router'
import type { Call } from '@/api/client'
import { momentOf, scalarOf, termsOf, type LimitKey, type Term, type TermKey } from './terms'

const VALUES: Record<TermKey, (call: Call) => string | null> = {
  sessionId: (call) => call.session_id,
  server: (call) => call.server,
  tool: (call) => call.tool,
  method: (call) => call.method,
  outcome: (call) => call.outcome ?? 'open',
  client: (call) => call.client,
  error_code: (call) => call.error_code,
}

const holds = (term: Term, call: Call) => (VALUES[term.key](call) ?? '') === term.value

// What a call has no number of is in no range.
const AMOUNTS: Record<'duration_ms' | 'tokens' | 'rows', (call: Call) => number | null> = {
  duration_ms: (call) => call.duration_ms,
  tokens: ({ request_tokens: asked, response_tokens: told }) =>
    asked === null && told === null ? null : (asked ?? 0) + (told ?? 0),
  rows: (call) => call.rows,
}

function isWithin(query: LocationQuery, call: Call): boolean {
  return Object.entries(AMOUNTS).every(([name, amountOf]) => {
    const least = scalarOf(query, `min_${name}` as LimitKey)
    const most = scalarOf(query, `max_${name}` as LimitKey)
    const amount = amountOf(call)
    if (least === undefined && most === undefined) return true
    return amount !== null && amount >= Number(least ?? 0) && amount <= Number(most ?? Infinity)
  })
}

export function matches(query: LocationQuery, call: Call, nowMs: number): boolean {
  const terms = termsOf(query)
  if (terms.some((term) => term.isExcluded && holds(term, call))) return false
  for (const key of new Set(terms.filter((term) => !term.isExcluded).map((term) => term.key))) {
    if (!terms.some((term) => term.key === key && !term.isExcluded && holds(term, call))) return false
  }
  const at = Date.parse(call.timestamp ?? '')
  const [since, until, q] = [scalarOf(query, 'since'), scalarOf(query, 'until'), scalarOf(query, 'q')]
  if (since && at < Date.parse(momentOf(since, nowMs))) return false
  if (until && at >= Date.parse(momentOf(until, nowMs))) return false
  const id = scalarOf(query, 'id')
  if (id && !call.id.replaceAll('-', '').startsWith(id.replaceAll('-', '').toLowerCase())) return false
  if (!isWithin(query, call)) return false
  if (!q) return true
  const text = [call.arguments, call.sql, call.error, call.tool].join('\n').toLowerCase()
  return text.includes(q.toLowerCase())
}
