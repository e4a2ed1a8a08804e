// The filter of the sessions list: in the address, for the API, and for what comes in live. Pure.

import type { LocationQuery } from 'vue-router'
import type { Session, SessionQuery } from '@/api/client'
import { momentOf } from '@/filters/terms'

export const KEYS = ['q', 'status', 'era', 'client', 'since', 'until'] as const
export type SessionKey = (typeof KEYS)[number]

export function valueOf(query: LocationQuery, key: SessionKey): string | undefined {
  return [query[key]].flat()[0] || undefined
}

export const isFiltered = (query: LocationQuery) => KEYS.some((key) => valueOf(query, key) !== undefined)

export function sessionQuery(query: LocationQuery, nowMs: number): SessionQuery {
  const asked: Record<string, string> = {}
  for (const key of KEYS) {
    const value = valueOf(query, key)
    if (value) asked[key] = key === 'since' || key === 'until' ? momentOf(value, nowMs) : value
  }
  return asked as SessionQuery
}

/** As the server would judge it: a session that just began belongs on top, or not into this list at all. */
export function belongs(query: LocationQuery, session: Session, nowMs: number): boolean {
  const asked = sessionQuery(query, nowMs)
  if (asked.status && asked.status !== session.status) return false
  if (asked.era && asked.era !== session.era) return false
  if (asked.client && asked.client !== session.client_name) return false
  if (asked.since && (session.last_seen_at ?? session.created_at ?? '') < asked.since) return false
  if (asked.until && (session.created_at ?? '') >= asked.until) return false
  if (!asked.q) return true
  const { session_id, client_name, client_version, workspace, principal } = session
  const wanted = asked.q.toLowerCase()
  return [session_id, client_name, client_version, workspace, principal].some((text) =>
    text?.toLowerCase().includes(wanted),
  )
}

/** Newest first, each once; what was told later holds. */
export function merged(rows: readonly Session[], told: readonly Session[]): Session[] {
  const byId = new Map([...rows, ...told].map((session) => [session.session_id, session]))
  const key = (session: Session) => `${session.created_at} ${session.session_id}`
  return [...byId.values()].sort((a, b) => (key(a) < key(b) ? 1 : -1))
}
