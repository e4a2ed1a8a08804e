// What to write into each client, and who has been heard of: from the record at first, then from the event stream.

import { ref, shallowRef } from 'vue'
import { api, read, type ClientEntry, type ClientList } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'
import { onLive, onStale } from '@/stores/live'
import { better, clientOf, ofCall, ofSession, type Seen } from './seen'

const PAST_SESSIONS = 500

export function useClients() {
  const told = shallowRef<ClientList | null>(null)
  const problem = shallowRef<ApiProblem | null>(null)
  const seen = ref(new Map<string, Seen>())

  function notice(name: string | null, what: Seen) {
    const clients: readonly ClientEntry[] = told.value?.clients ?? []
    const id = clientOf(name, clients)
    if (id !== null) seen.value.set(id, better(seen.value.get(id), what))
  }

  async function readPast() {
    const query = { limit: PAST_SESSIONS }
    const past = await read(api.GET('/api/v1/sessions', { params: { query } })).catch(() => null) // nothing is recorded
    for (const session of past?.sessions ?? []) notice(session.client_name, ofSession(session))
  }

  async function load() {
    try {
      // The browser knows how it reached the gateway; behind a proxy the gateway does not.
      const query = { base: location.origin }
      told.value = await read(api.GET('/api/v1/clients', { params: { query } }))
      problem.value = null
      await readPast()
    } catch (cause) {
      problem.value = asProblem(cause)
    }
  }

  onLive(['sessions.created', 'sessions.updated'], (_, session) => notice(session.client_name, ofSession(session)))
  onLive(['tool_calls.started', 'tool_calls.settled'], (_, call) => notice(call.client, ofCall(call)))
  onStale(() => void readPast())
  void load()

  return { told, problem, seen, load }
}
