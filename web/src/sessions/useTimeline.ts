// What a session did, for its lanes and its head: read once, then kept up live.

import { computed, ref, shallowRef, watch, type Ref } from 'vue'
import { api, read, type Call, type LaneEvent, type Session } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'
import { onLive, useLive } from '@/stores/live'

const MOST = 10_000 // marks; as many as the API gives

export function useTimeline(id: Readonly<Ref<string>>) {
  const live = useLive()
  const session = shallowRef<Session | null>(null)
  const events = shallowRef<readonly LaneEvent[]>([])
  const total = ref(0)
  const problem = shallowRef<ApiProblem | null>(null)

  async function load() {
    const session_id = id.value
    try {
      const params = { path: { session_id }, query: { limit: MOST } }
      const answer = await read(api.GET('/api/v1/sessions/{session_id}/timeline', { params }))
      if (id.value !== session_id) return
      session.value = answer.session
      events.value = answer.events
      total.value = answer.total
      problem.value = null
    } catch (cause) {
      if (id.value === session_id) problem.value = asProblem(cause)
    }
  }

  watch(
    id,
    () => {
      session.value = null
      events.value = []
      void load()
    },
    { immediate: true },
  )
  // What came while the stream was cut is in the record.
  watch(
    () => live.state,
    (state, before) => state === 'live' && before !== 'connecting' && void load(),
  )

  const beganMs = computed(() => Date.parse(session.value?.created_at ?? ''))
  const markOf = (call: Call): LaneEvent => ({
    id: call.id,
    started_ms: Math.max(0, Date.parse(call.timestamp ?? '') - beganMs.value),
    duration_ms: call.duration_ms,
    kind: call.kind,
    sender: call.sender,
    method: call.method,
    server: call.server,
    tool: call.tool,
    outcome: call.outcome,
    error_code: call.error_code,
  })

  // Events of one frame are taken together: a burst is one new list, not hundreds.
  let heard: Call[] = []
  function takeHeard() {
    const marks = new Map(heard.map((call) => [call.id, markOf(call)]))
    heard = []
    const known = new Set(events.value.map((event) => event.id))
    const news = [...marks.values()].filter((mark) => !known.has(mark.id))
    const kept = events.value.map((event) => {
      const mark = marks.get(event.id)
      return mark && mark.outcome !== null ? { ...mark, started_ms: event.started_ms } : event
    })
    events.value = [...kept, ...news].slice(-MOST)
    total.value += news.length
  }
  onLive(['tool_calls.started', 'tool_calls.settled'], (_, call) => {
    if (call.session_id !== id.value || !session.value) return
    if (!heard.length) queueMicrotask(takeHeard)
    heard.push(call)
  })
  onLive(['sessions.created', 'sessions.updated', 'sessions.closed'], (_, told) => {
    if (told.session_id !== id.value) return
    if (session.value) session.value = told
    else void load()
  })

  return { session, events, total, problem, beganMs, load }
}
