// The call before and the call after this one, in the same session.

import { shallowRef, watch, type Ref } from 'vue'
import { api, read, type Call } from '@/api/client'
import { useLive } from '@/stores/live'

type Side = 'before' | 'after'

async function ask(call: Call, side: Side): Promise<string | null> {
  const at = call.timestamp ?? ''
  // `since` is inclusive, `until` is not: forwards the first row is the call itself, or one of the same moment.
  const span = side === 'before' ? { until: at, order: 'newest' as const } : { since: at, order: 'oldest' as const }
  const query = { session_id: [call.session_id ?? ''], limit: side === 'before' ? 1 : 2, ...span }
  const rows =
    call.method === 'tools/call'
      ? (await read(api.GET('/api/v1/tool-calls', { params: { query } }))).tool_calls
      : (await read(api.GET('/api/v1/exchanges', { params: { query } }))).exchanges
  return rows.find((row) => row.id !== call.id)?.id ?? null
}

export function useNeighbours(call: Readonly<Ref<Call | null>>) {
  const before = shallowRef<string | null>(null)
  const after = shallowRef<string | null>(null)
  const live = useLive()

  async function load() {
    const asked = call.value
    if (!asked?.session_id || !asked.timestamp) return
    // Without neighbours the call itself is still all there: an error here is no error of the page.
    const found = await Promise.all([ask(asked, 'before'), ask(asked, 'after')]).catch(() => [null, null] as const)
    if (call.value?.id === asked.id) [before.value, after.value] = found
  }

  watch(
    () => call.value?.id,
    () => {
      before.value = after.value = null
      void load()
    },
    { immediate: true },
  )
  // The newest call of a session gets a next one live.
  watch(
    () => live.rows[0]?.id,
    () => {
      if (call.value && !after.value && live.rows[0]?.session_id === call.value.session_id) void load()
    },
  )
  return { before, after }
}
