// Which client of the list made itself known, by the name that it sends. Pure.

import type { Call, ClientEntry, Session } from '@/api/client'

export const OTHER = 'other'

export interface Seen {
  state: 'connected' | 'called'
  at: string | null
  sessionId: string | null
}

/** The client's id; OTHER for one that is not in the list; null for our own commands and this page. */
export function clientOf(name: string | null, clients: readonly ClientEntry[]): string | null {
  const said = (name ?? '').toLowerCase()
  if (!said || said.startsWith('callgate')) return null
  const found = clients.find((client) => client.calls_itself.some((begin) => said.startsWith(begin)))
  return found?.id ?? OTHER
}

export function ofSession(session: Session): Seen {
  const state = session.tool_call_count ? 'called' : 'connected'
  return { state, at: session.last_seen_at ?? session.created_at, sessionId: session.session_id }
}

export function ofCall(call: Call): Seen {
  return { state: 'called', at: call.timestamp, sessionId: call.session_id }
}

/** A call counts more than a connection, and the newer one of two more than the older. */
export function better(one: Seen | undefined, other: Seen): Seen {
  if (!one) return other
  if (one.state !== other.state) return one.state === 'called' ? one : other
  return (other.at ?? '') > (one.at ?? '') ? other : one
}
