// The calls of one session: stored ones by the page, new ones as they happen on top.

import { computed, shallowRef } from 'vue'
import type { Call } from '@/api/client'
import { usePagedCalls, type CallsAsked } from '@/calls/usePagedCalls'
import { onLive, useLive } from '@/stores/live'

export function useSessionCalls(sessionId: () => string, isOpenEnded: () => boolean) {
  const paged = usePagedCalls()
  const live = useLive()
  const fresh = shallowRef<readonly Call[]>([]) // newest first

  let heard: Call[] = []
  function takeHeard() {
    const byId = new Map([...fresh.value, ...heard].map((call) => [call.id, call]))
    paged.settle(heard)
    heard = []
    const stored = new Set(paged.rows.value.map((row) => row.id))
    const news = [...byId.values()].filter((call) => !stored.has(call.id))
    fresh.value = news.sort((a, b) => (b.timestamp ?? '').localeCompare(a.timestamp ?? ''))
  }
  function hear(call: Call) {
    if (call.session_id !== sessionId() || !isOpenEnded() || !paged.isLoaded.value) return
    if (!heard.length) queueMicrotask(takeHeard)
    heard.push(call)
  }
  onLive(['tool_calls.started', 'tool_calls.settled'], (_, call) => hear(call))

  function begin(question: CallsAsked, isArrival: boolean) {
    fresh.value = []
    const asking = paged.begin(question, isArrival)
    // Rows that were kept while one was away: what happened since is known from the live rows.
    const newest = paged.rows.value[0]?.timestamp ?? ''
    if (paged.isLoaded.value) for (const call of live.rows) if ((call.timestamp ?? '') >= newest) hear(call)
    return asking
  }

  return {
    ...paged,
    begin,
    rows: computed(() => (fresh.value.length ? [...fresh.value, ...paged.rows.value] : paged.rows.value)),
    total: computed(() => paged.total.value + fresh.value.length),
  }
}
