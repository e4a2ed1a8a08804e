// Whether a row that just came in would be among those the address asks for. The server decides in the end; this only
// counts what is announced as new. Pure.

import type { LocationQuery } from 'vue-router'
import type { Call } from '@/api/client'
import { momentOf, scalarOf, termsOf, type Term, type TermKey } from './terms'

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
  if (!q) return true
  const text = [call.arguments, call.sql, call.error, call.tool].join('\n').toLowerCase()
  return text.includes(q.toLowerCase())
}
