// Filters that a person gave a name, kept in this browser. Each is an address of the page: whoever gets it sees the same.

import { ref } from 'vue'
import type { LocationQuery } from 'vue-router'

export interface SavedFilter {
  name: string
  address: string // from the first slash on
}

const KEY = 'callgate.filters'
const MOST = 50

/** What another version or another page wrote there is not trusted. */
export function readSaved(text: string | null): SavedFilter[] {
  try {
    const found: unknown = JSON.parse(text ?? '[]')
    if (!Array.isArray(found)) return []
    return found.filter(
      (one): one is SavedFilter =>
        typeof one?.name === 'string' && typeof one?.address === 'string' && /^\/(?![/\\])/.test(one.address),
    )
  } catch {
    return []
  }
}

/** The newest of a name is the one that counts. */
export function withSaved(all: readonly SavedFilter[], one: SavedFilter): SavedFilter[] {
  return [...all.filter(({ name }) => name !== one.name), one].sort((a, b) => a.name.localeCompare(b.name)).slice(-MOST)
}

/** The query without what is open beside the list. */
export function savedQuery(query: LocationQuery): LocationQuery {
  return Object.fromEntries(Object.entries(query).filter(([key]) => key !== 'call'))
}

const saved = ref(readSaved(globalThis.localStorage?.getItem(KEY) ?? null))
globalThis.addEventListener?.('storage', (event) => {
  if (event.key === KEY) saved.value = readSaved(event.newValue)
})

function store(all: SavedFilter[]) {
  saved.value = all
  localStorage.setItem(KEY, JSON.stringify(all))
}

export function useSavedFilters() {
  return {
    saved,
    save: (one: SavedFilter) => store(withSaved(saved.value, one)),
    remove: (name: string) => store(saved.value.filter((one) => one.name !== name)),
  }
}
