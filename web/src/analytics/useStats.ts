// The sums of the address's filters, asked anew when they change and, while the page is looked at, from time to time.
// Tool calls only, unless a method is chosen: listings and pings would bury them.

import { onScopeDispose, ref, shallowRef, watch } from 'vue'
import { api, read, type Stats } from '@/api/client'
import { asProblem, isAbort, type ApiProblem } from '@/api/problem'
import { momentOf } from '@/filters/terms'
import { useFilters } from '@/filters/useFilters'
import { onLive } from '@/stores/live'

const AGAIN_AFTER_MS = 5_000 // sums of many rows cost the gateway more than a row
export const DEFAULT_SINCE = '1h'

export function useStats() {
  const filters = useFilters()
  const stats = shallowRef<Stats | null>(null)
  const problem = shallowRef<ApiProblem | null>(null)
  const isLoading = ref(false)
  let asked: AbortController | null = null
  let askedAt = 0
  let later: ReturnType<typeof setTimeout> | undefined

  async function ask() {
    clearTimeout(later)
    later = undefined
    asked?.abort()
    const own = (asked = new AbortController())
    askedAt = Date.now()
    isLoading.value = true
    try {
      const query = filters.query()
      if (!query.method && !query.not_method) query.method = ['tools/call']
      query.since ??= momentOf(DEFAULT_SINCE, askedAt)
      stats.value = await read(api.GET('/api/v1/stats', { params: { query }, signal: own.signal }))
      problem.value = null
    } catch (cause) {
      if (!isAbort(cause)) problem.value = asProblem(cause)
    } finally {
      if (asked === own) isLoading.value = false
    }
  }

  // A range that ended changes no more.
  function askLater() {
    if (later || filters.until.value || document.hidden) return
    later = setTimeout(() => void ask(), Math.max(0, askedAt + AGAIN_AFTER_MS - Date.now()))
  }

  watch(filters.key, () => void ask(), { immediate: true })
  onLive(['tool_calls.settled'], askLater)
  onScopeDispose(() => {
    clearTimeout(later)
    asked?.abort()
  })
  return { stats, problem, isLoading, ask }
}
