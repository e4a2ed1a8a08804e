// What a page held when it was left, for whoever comes back to it with Back or Forward: the rows of a list, and where it
// was scrolled to. Kept by the entry of the browser's history, in memory; an address that is followed anew begins anew.

import { onBeforeRouteLeave, onBeforeRouteUpdate, type Router } from 'vue-router'

const MOST_ENTRIES = 5 // each may hold the rows of a long list

export class KeptEntries {
  private entries = new Map<number, Map<string, unknown>>() // by position in the history, last left last
  private position = 0
  private isReturn = false

  /** Now at this entry; `isReturn`: by Back or Forward. */
  arrive(position: number, isReturn: boolean) {
    this.position = position
    this.isReturn = isReturn
    // A new step ends what lay ahead.
    if (!isReturn) for (const known of [...this.entries.keys()]) if (known >= position) this.entries.delete(known)
  }

  keep(name: string, value: unknown) {
    const entry = this.entries.get(this.position) ?? new Map<string, unknown>()
    this.entries.delete(this.position)
    this.entries.set(this.position, entry.set(name, value))
    for (const oldest of [...this.entries.keys()].slice(0, -MOST_ENTRIES)) this.entries.delete(oldest)
  }

  /** What was kept under this name at this entry, once. */
  take<T>(name: string): T | undefined {
    if (!this.isReturn) return undefined
    const entry = this.entries.get(this.position)
    const found = entry?.get(name) as T | undefined
    entry?.delete(name)
    return found
  }
}

const kept = new KeptEntries()

export function watchHistory(router: Router) {
  let isPopped = false
  // The router's own word: a listener of the window would come too late, when the navigation is over already.
  router.options.history.listen(() => (isPopped = true))
  router.afterEach(() => {
    const { position } = (history.state ?? {}) as { position?: number }
    kept.arrive(position ?? 0, isPopped)
    isPopped = false
  })
}

/** Keeps what `hold` gives when the entry is left, for another page or for another address of this one. */
export function useKept<T>(name: string, hold: () => T | undefined) {
  const keep = () => {
    const held = hold()
    if (held !== undefined) kept.keep(name, held)
  }
  onBeforeRouteLeave(keep)
  onBeforeRouteUpdate(keep)
}

export const takeKept = <T>(name: string) => kept.take<T>(name)
export const keepHere = (name: string, value: unknown) => kept.keep(name, value)
