// How many calls each further value of the address's filters would find. Asked again with every other filter; an answer to
// a question that is no longer asked is given up. Without them the filters work all the same, so an error says nothing.

import { onScopeDispose, shallowRef, watch } from 'vue'
import { useRoute } from 'vue-router'
import { api, read, type Facets } from '@/api/client'
import { momentOf } from './terms'
import { useFilters } from './useFilters'

/** `since`: how far back, where the address does not say. */
export function useFacets(since: () => string | undefined) {
  const route = useRoute()
  const filters = useFilters()
  const facets = shallowRef<Facets | null>(null)
  let asked: AbortController | null = null

  async function ask() {
    asked?.abort()
    const own = (asked = new AbortController())
    const query = filters.query()
    const fallback = since()
    if (fallback) query.since ??= momentOf(fallback, Date.now())
    if (route.query.all !== '1' && !query.method && !query.not_method) query.method = ['tools/call']
    const found = await read(api.GET('/api/v1/facets', { params: { query }, signal: own.signal })).catch(() => null)
    if (!own.signal.aborted) facets.value = found
  }

  // Which way the list is sorted changes none of them.
  const { path } = route
  watch(
    () => JSON.stringify({ ...route.query, call: undefined, order: undefined }),
    () => route.path === path && void ask(),
    { immediate: true },
  )
  onScopeDispose(() => asked?.abort())
  return { facets, ask }
}
