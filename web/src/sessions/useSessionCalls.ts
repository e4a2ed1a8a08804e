// The calls of one session: stored ones by the page, new ones as they happen on top.

import { computed, shallowRef } from 'vue'
import type { Call } from '@/api/client'
import { usePagedCalls, type CallsAsked } from '@/calls/usePagedCalls'
import { onLive } from '@/stores/live'

export function useSessionCalls(sessionId: () => string, isOpenEnded: () => boolean) {
  const paged = usePagedCalls()
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
  onLive(['tool_calls.started', 'tool_calls.settled'], (_, call) => {
    if (call.session_id !== sessionId() || !isOpenEnded() || !paged.isLoaded.value) return
    if (!heard.length) queueMicrotask(takeHeard)
    heard.push(call)
  })

  function begin(question: CallsAsked) {
    fresh.value = []
    return paged.begin(question)
  }

  return {
    ...paged,
    begin,
    rows: computed(() => (fresh.value.length ? [...fresh.value, ...paged.rows.value] : paged.rows.value)),
    total: computed(() => paged.total.value + fresh.value.length),
  }
}
