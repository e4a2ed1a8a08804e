// The sessions the address asks for: by the page from the record, and live on top.

import { computed, onScopeDispose, ref, shallowRef, watch } from 'vue'
import { useRoute } from 'vue-router'
import { api, read, type Session } from '@/api/client'
import { asProblem, isAbort, type ApiProblem } from '@/api/problem'
import { takeKept, useKept } from '@/history/keep'
import { onLive, useLive } from '@/stores/live'
import { belongs, merged, sessionQuery } from './sessionQuery'

const PAGE = 200
const KEPT = 'sessions'
interface Held {
  rows: readonly Session[]
  total: number
  cursor: string | null
}
const POLL_MS = 30_000 // while the event stream is cut

export function useSessions() {
  const route = useRoute()
  const live = useLive()
  const rows = shallowRef<readonly Session[]>([])
  const total = ref(0)
  const isLoading = ref(false)
  const isLoaded = ref(false)
  const problem = shallowRef<ApiProblem | null>(null)
  let cursor: string | null = null
  let stopping = new AbortController()

  async function ask(from: string | undefined, take: (found: Session[], next: string | null) => void) {
    const { signal } = stopping
    isLoading.value = true
    problem.value = null
    try {
      const query = { ...sessionQuery(route.query, Date.now()), limit: PAGE, cursor: from }
      const answer = await read(api.GET('/api/v1/sessions', { params: { query }, signal }))
      total.value = answer.total
      take(answer.sessions, answer.next_cursor)
      isLoaded.value = true
    } catch (cause) {
      if (!isAbort(cause)) problem.value = asProblem(cause)
    } finally {
      if (!signal.aborted) isLoading.value = false
    }
  }

  /** The newest page again, under what is listed already. */
  const again = () => ask(undefined, (found) => (rows.value = merged(rows.value, found)))

  // Who comes back to the list finds the rows that it had, and what is new above them.
  useKept<Held>(KEPT, () => (isLoaded.value ? { rows: rows.value, total: total.value, cursor } : undefined))

  /** `isArrival`: somebody came to this address, maybe back to it; else it is asked anew. */
  function begin(isArrival = false) {
    stopping.abort()
    stopping = new AbortController()
    const held = isArrival ? takeKept<Held>(KEPT) : undefined
    if (held) {
      rows.value = held.rows
      total.value = held.total
      cursor = held.cursor
      isLoaded.value = true
      return again()
    }
    isLoaded.value = false
    return ask(undefined, (found, next) => {
      rows.value = found
      cursor = next
    })
  }

  async function more() {
    if (isLoading.value || cursor === null || problem.value) return
    await ask(cursor, (found, next) => {
      rows.value = merged(rows.value, found)
      cursor = next
    })
  }

  const { path } = route
  watch(
    () => route.query,
    () => route.path === path && void begin(true),
    { immediate: true },
  ) // not on the way out
  watch(
    () => live.state,
    (state, before) => state === 'live' && before !== 'connecting' && void again(),
  )
  const poll = setInterval(() => live.isCut && void again(), POLL_MS)
  onScopeDispose(() => {
    clearInterval(poll)
    stopping.abort()
  })

  let heard: Session[] = []
  function takeHeard() {
    const known = new Set(rows.value.map((row) => row.session_id))
    const told = heard.filter((one) => known.has(one.session_id) || belongs(route.query, one, Date.now()))
    heard = []
    if (!told.length) return
    total.value += new Set(told.map((one) => one.session_id).filter((id) => !known.has(id))).size
    rows.value = merged(rows.value, told)
  }
  onLive(['sessions.created', 'sessions.updated', 'sessions.closed'], (_, session) => {
    if (!isLoaded.value) return
    if (!heard.length) queueMicrotask(takeHeard)
    heard.push(session)
  })

  return {
    rows,
    total,
    isLoading,
    isLoaded,
    problem,
    begin,
    more,
    open: computed(() => rows.value.filter((row) => row.status === 'open').length),
  }
}
