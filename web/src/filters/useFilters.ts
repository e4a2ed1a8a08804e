// The filters of the current address, and the ways to change them. Each change is a step in the browser's history.

import { computed } from 'vue'
import { useRoute, useRouter, type LocationQuery, type LocationQueryRaw } from 'vue-router'
import { apiQuery, SCALAR_KEYS, scalarOf, termsOf, withoutTerm, withTerm } from './terms'
import type { ScalarKey, Term, TermKey } from './terms'

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
    isEmpty: computed(() => !terms.value.length && !SCALAR_KEYS.some((key) => scalarOf(route.query, key))),
    // What is asked of the gateway; which call is open beside the list is not.
    key: computed(() => JSON.stringify({ ...route.query, call: undefined })),
    add,
    remove,
    set,
    pick,
    pickAll,
    clear: () => go(route.query.all ? { all: route.query.all } : {}),
    query: (nowMs = Date.now()) => apiQuery(route.query, nowMs),
  }
}
