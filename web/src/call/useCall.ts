// One exchange of the record, whichever its method. A running one settles live; one made this moment may reach the
// record a little after its address reaches the page, so a miss is asked again for a few seconds.

import { onScopeDispose, ref, shallowRef, watch, type Ref } from 'vue'
import { api, read, type WholeCall } from '@/api/client'
import { asProblem, type ApiProblem } from '@/api/problem'
import { onLive, useLive } from '@/stores/live'
import { madeAt } from './callId'

const FRESH_MS = 8_000
const AGAIN_MS = 300
const RUNNING_MS = 5_000 // a running call of another method than tools/call has no event: it is asked for
const COUNTED_MS = 3_500 // by then the gateway has counted its tokens

export function useCall(id: Readonly<Ref<string>>) {
  const call = shallowRef<WholeCall | null>(null)
  const problem = shallowRef<ApiProblem | null>(null)
  const isLoading = ref(false)
  let timer: ReturnType<typeof setTimeout> | undefined

  function later(ms: number) {
    clearTimeout(timer)
    timer = setTimeout(() => void load(), ms)
  }

  function settled(found: WholeCall) {
    const ageMs = Date.now() - madeAt(found.id)
    if (found.outcome === null) later(RUNNING_MS)
    else if (found.tokens_by !== 'o200k' && ageMs < FRESH_MS) later(COUNTED_MS)
  }

  async function load() {
    const exchange_id = id.value
    isLoading.value = true
    try {
      const found = await read(api.GET('/api/v1/exchanges/{exchange_id}', { params: { path: { exchange_id } } }))
      if (id.value !== exchange_id) return
      call.value = found
      problem.value = null
      settled(found)
    } catch (cause) {
      if (id.value !== exchange_id) return
      const found = asProblem(cause)
      if (found.status === 404 && Date.now() - madeAt(exchange_id) < FRESH_MS) later(AGAIN_MS)
      else problem.value = found
    } finally {
      if (id.value === exchange_id) isLoading.value = false
    }
  }

  watch(
    id,
    () => {
      clearTimeout(timer)
      call.value = null
      problem.value = null
      void load()
    },
    { immediate: true },
  )
  onLive(['tool_calls.settled'], (_, row) => {
    if (row.id === id.value && call.value?.outcome !== row.outcome) void load()
  })
  // A gateway that is back is asked again without a click.
  const live = useLive()
  watch(
    () => live.state,
    (state) => state === 'live' && problem.value?.status === 0 && void load(),
  )
  onScopeDispose(() => clearTimeout(timer))

  return { call, problem, isLoading, load }
}
