// What happens now: the newest tool calls, and every event for whoever listens. One connection for the whole page.
// Rows are plain frozen data in a shallowRef: no reactive proxies over thousands of rows.

import { defineStore } from 'pinia'
import { computed, onScopeDispose, ref, shallowRef } from 'vue'
import { api, read, type Call, type Server, type Session } from '@/api/client'
import type { ApiProblem } from '@/api/problem'
import { Connection, type ConnectionState } from '@/live/connection'
import { FrameBuffer } from '@/live/frameBuffer'
import { RowRing } from '@/live/rowRing'

export interface LiveEvents {
  'sessions.created': Session
  'sessions.updated': Session
  'sessions.closed': Session
  'tool_calls.started': Call
  'tool_calls.settled': Call
  'settings.updated': { version: number; changed: string[]; needs_restart: string[] }
  'servers.changed': { servers: Pick<Server, 'name' | 'kind' | 'state' | 'detail'>[] }
  'catalog.changed': { version: number }
  'trust.changed': { servers: { server: string; held: number; changed: number }[] }
  'events.missed': { count: number }
}
export type LiveType = keyof LiveEvents
export type LiveEvent = { [T in LiveType]: { type: T; data: LiveEvents[T] } }[LiveType]
type Listener = (events: LiveEvent[]) => void

const CAPACITY = 5_000 // rows kept; the record has the rest
const FIRST_PAGE = 100 // more than a screen holds; 500 are half a megabyte, four seconds on a slow line
const PAGE = 500
const MOST_PAGES = CAPACITY / PAGE
const COUNTED = 100 // more than a screen holds
const COUNT_AFTER_MS = 3_000

export const useLive = defineStore('live', () => {
  const ring = new RowRing<Call>(CAPACITY)
  const listeners = new Set<Listener>()
  const stale = new Set<() => void>()
  const rows = shallowRef<readonly Call[]>([])
  const state = ref<ConnectionState>('off')
  const problem = shallowRef<ApiProblem | null>(null)
  const isPaused = ref(false)
  const heldBack = ref(0) // rows that came while paused
  const isLoaded = ref(false)
  const missed = ref(0)

  /** Shows what the ring holds; gives back what was news in these rows. */
  function take(calls: Call[]): Call[] {
    const before = ring.version
    const news = ring.merge(calls)
    if (ring.version === before) return news
    if (isPaused.value) {
      const shown = new Set(rows.value.map((row) => row.id))
      heldBack.value = ring.rows.reduce((sum, row) => sum + (shown.has(row.id) ? 0 : 1), 0)
    } else {
      rows.value = ring.rows
    }
    return news
  }

  function tell(events: LiveEvent[]) {
    if (events.length) for (const listener of listeners) listener(events)
  }

  const buffer = new FrameBuffer<LiveEvent>((events) => {
    const calls = events.flatMap((event) =>
      event.type === 'tool_calls.started' || event.type === 'tool_calls.settled' ? [event.data] : [],
    )
    // What was told twice (a resume tells what may have been heard) is heard once.
    const news = new Set(take(calls))
    tell(events.filter((event) => !event.type.startsWith('tool_calls.') || news.has(event.data as Call)))
    for (const event of events) if (event.type === 'events.missed') missed.value += event.data.count
    if (events.some((event) => event.type === 'events.missed')) void catchUp().catch(() => undefined)
    if (calls.length) countLater()
  })

  /** Reads the record backwards until a page ends with a row we know; at most as many rows as we keep. */
  async function catchUp(): Promise<void> {
    const isFirst = !isLoaded.value
    let cursor: string | undefined
    for (let page = 0; page < MOST_PAGES; page++) {
      const query = { limit: isFirst ? FIRST_PAGE : PAGE, cursor }
      const answer = await read(api.GET('/api/v1/tool-calls', { params: { query } }))
      const oldest = answer.tool_calls.at(-1)
      const isMet = isFirst || !oldest || ring.has(oldest.id)
      tell(take(answer.tool_calls).map((data) => ({ type: 'tool_calls.settled', data })))
      isLoaded.value = true
      cursor = answer.next_cursor ?? undefined
      if (!cursor || isMet) return
    }
  }

  // The gateway counts tokens after a call has settled: the rows in sight are asked for once more.
  let counting: ReturnType<typeof setTimeout> | undefined
  function countLater() {
    counting ??= setTimeout(() => {
      counting = undefined
      const query = { limit: COUNTED }
      void read(api.GET('/api/v1/tool-calls', { params: { query } })).then(
        (answer) => tell(take(answer.tool_calls).map((data) => ({ type: 'tool_calls.settled', data }))),
        () => undefined, // a row without its tokens is still a row
      )
    }, COUNT_AFTER_MS)
  }

  const connection = new Connection({
    event(event) {
      try {
        buffer.push(JSON.parse(event.data) as LiveEvent)
      } catch {
        // A frame cut by a proxy; what it held is in the record.
      }
    },
    state(next, why) {
      state.value = next
      problem.value = why
    },
    async poll() {
      await catchUp()
      for (const refresh of stale) refresh()
    },
    opened({ isFirst, wasCut }) {
      // Also after a cut: a stream that had carried no event yet has no id to resume from.
      if (isFirst || wasCut) void catchUp().catch(() => undefined)
      if (wasCut) for (const refresh of stale) refresh()
    },
  })

  function setPaused(paused: boolean) {
    isPaused.value = paused
    if (!paused) {
      heldBack.value = 0
      rows.value = ring.rows
    }
  }

  function listen(listener: Listener): () => void {
    listeners.add(listener)
    return () => listeners.delete(listener)
  }

  function whenStale(refresh: () => void): () => void {
    stale.add(refresh)
    return () => stale.delete(refresh)
  }

  return {
    rows,
    state,
    problem,
    isPaused,
    heldBack,
    isLoaded,
    missed,
    isCut: computed(() => state.value === 'reconnecting' || state.value === 'polling'),
    start: () => connection.start(),
    stop: () => connection.stop(),
    retryNow: () => connection.retryNow(),
    setPaused,
    listen,
    whenStale,
    catchUp,
  }
})

/** Calls `handle` for each event of these types while the component lives. */
export function onLive<T extends LiveType>(types: readonly T[], handle: (type: T, data: LiveEvents[T]) => void) {
  const wanted = new Set<LiveType>(types)
  const stop = useLive().listen((events) => {
    for (const event of events) if (wanted.has(event.type)) handle(event.type as T, event.data as LiveEvents[T])
  })
  onScopeDispose(stop)
}

/**
 * Calls `refresh` whenever what a page holds may be old: each 30 s while the stream is cut, and when it is back (a
 * resume tells the calls again, but not what became of sessions and servers).
 */
export function onStale(refresh: () => void) {
  onScopeDispose(useLive().whenStale(refresh))
}
