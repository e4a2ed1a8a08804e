// The filters of the current address, and the ways to change them. Each change is a step in the browser's history.

import { computed } from 'vue'
import { useRoute, useRouter, type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { apiQuery, isErrorsOnly, orderOf, SCALAR_KEYS, scalarOf, termsOf, withErrorsOnly, withoutTerm, withTerm } from './terms'
import type { LimitKey, Order, ScalarKey, Term, TermKey } from './terms'

export function useFilters() {
  const route = useRoute()
  const router = useRouter()
  const go = (query: LocationQueryRaw) => void router.push({ query })

  const terms = computed(() => termsOf(route.query))
  const scalar = (key: ScalarKey) => computed(() => scalarOf(route.query, key))

  function add(key: TermKey, value: string, isExcluded = false) {
    go(withTerm(route.query, { key, value, isExcluded }))
  }

  function remove(term: Term) {
    go(withoutTerm(route.query, term))
  }

  /** Replaces whatever the address says for `key`. */
  function set(changes: Partial<Record<TermKey | ScalarKey | 'all', string | undefined>>) {
    go({ ...route.query, ...changes })
  }

  /** While somebody types: no step of the way back for each letter. */
  function setText(q: string) {
    if (q !== (scalarOf(route.query, 'q') ?? '')) void router.replace({ query: { ...route.query, q: q || undefined } })
  }

  function sort(order: Order) {
    go({ ...route.query, order: order === 'newest' ? undefined : order })
  }

  /** Click adds, shift-click excludes. */
  function pick(event: MouseEvent | KeyboardEvent, key: TermKey, value: string | null) {
    if (value !== null) add(key, value, event.shiftKey)
  }

  /** Click adds all of them. Shift-click excludes the first: to exclude each would leave out more than both mean. */
  function pickAll(event: MouseEvent | KeyboardEvent, wanted: readonly Omit<Term, 'isExcluded'>[]) {
    const isExcluded = event.shiftKey
    const picked = isExcluded ? wanted.slice(0, 1) : wanted
    go(picked.reduce((query, term) => withTerm(query as LocationQuery, { ...term, isExcluded }), route.query as LocationQueryRaw))
  }

  return {
    terms,
    q: scalar('q'),
    since: scalar('since'),
    until: scalar('until'),
    id: scalar('id'),
    limit: (key: LimitKey) => scalarOf(route.query, key),
    order: computed(() => orderOf(route.query)),
    isErrorsOnly: computed(() => isErrorsOnly(route.query)),
    setErrorsOnly: (isOnly: boolean) => go(withErrorsOnly(route.query, isOnly)),
    isEmpty: computed(() => !terms.value.length && !SCALAR_KEYS.some((key) => scalarOf(route.query, key))),
    // What is asked of the gateway; which call is open beside the list is not.
    key: computed(() => JSON.stringify({ ...route.query, call: undefined })),
    add,
    remove,
    set,
    setText,
    sort,
    pick,
    pickAll,
    clear: () => go({ all: route.query.all ?? undefined, order: route.query.order ?? undefined }),
    query: (nowMs = Date.now()) => apiQuery(route.query, nowMs),
  }
}
