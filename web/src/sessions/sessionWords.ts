// A session in words. Pure.

import type { Session } from '@/api/client'

export function clientOf(session: Pick<Session, 'client_name' | 'client_version'>): string {
  return [session.client_name ?? 'unknown client', session.client_version].filter(Boolean).join(' ')
}

/** How long it lasted, or has lasted: an open one to now, a closed one to its end or its last sign. */
export function lastedMs(
  session: Pick<Session, 'created_at' | 'last_seen_at' | 'ended_at' | 'status'>,
  nowMs: number,
): number | null {
  if (!session.created_at) return null
  const end =
    session.status === 'open' ? nowMs : Date.parse(session.ended_at ?? session.last_seen_at ?? session.created_at)
  return Math.max(0, end - Date.parse(session.created_at))
}

export function spokeOf(session: Pick<Session, 'era' | 'transport' | 'client_protocol'>): string {
  return [session.client_protocol, session.era, session.transport].filter(Boolean).join(' · ')
}
