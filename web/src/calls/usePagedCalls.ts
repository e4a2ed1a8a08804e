// The stored history, page by page: a new filter begins anew, the end of the list asks for more.
// Answers of a question that is no longer asked are thrown away.

import { ref, shallowRef, type Ref } from 'vue'
import { api, read, type Call, type CallQuery } from '@/api/client'
import { asProblem, isAbort, type ApiProblem } from '@/api/problem'
import { takeKept, useKept } from '@/history/keep'

const FIRST_PAGE = 100 // more than a screen shows, and soon there: the wide columns of each row are read
const NEXT_PAGE = 1000 // who reads on gets far with one question

export interface CallsAsked {
  query: CallQuery
  isEveryMethod: boolean
}

/** What a list shows of them. */
export interface PagedCalls {
  rows: Readonly<Ref<readonly Call[]>>
  total: Readonly<Ref<number>>
  isLoading: Readonly<Ref<boolean>>
  isLoaded: Readonly<Ref<boolean>>
  problem: Readonly<Ref<ApiProblem | null>>
  more: () => Promise<void>
  retry: () => Promise<void>
}

const KEPT = 'calls'
interface Held {
  rows: readonly Call[]
  total: number
  cursor: string | undefined
  isAtEnd: boolean
}

interface Page {
  rows: Call[]
  total: number
  next_cursor: string | null
}

async function ask({ query, isEveryMethod }: CallsAsked, cursor: string | undefined, signal: AbortSignal): Promise<Page> {
  const options = { params: { query: { ...query, limit: cursor === undefined ? FIRST_PAGE : NEXT_PAGE, cursor } }, signal }
  if (isEveryMethod) {
    const { exchanges, ...rest } = await read(api.GET('/api/v1/exchanges', options))
    return { rows: exchanges, ...rest }
  }
  const { tool_calls, ...rest } = await read(api.GET('/api/v1/tool-calls', options))
  return { rows: tool_calls, ...rest }
}

export function usePagedCalls() {
  const rows = shallowRef<readonly Call[]>([])
  const total = ref(0)
  const isLoading = ref(false)
  const isLoaded = ref(false) // the first page of the current question is here
  const problem = shallowRef<ApiProblem | null>(null)
  let asked: CallsAsked = { query: {}, isEveryMethod: false }
  let cursor: string | undefined
  let isAtEnd = false
  const running = new Set<string>()
  let stopping = new AbortController()

  async function load() {
    const { signal } = stopping
    isLoading.value = true
    problem.value = null
    try {
      const page = await ask(asked, cursor, signal)
      if (signal.aborted) return // answered in the moment it was given up
      rows.value = cursor === undefined ? page.rows : [...rows.value, ...page.rows]
      for (const row of page.rows) if (row.outcome === null) running.add(row.id)
      total.value = page.total
      cursor = page.next_cursor ?? undefined
      isAtEnd = cursor === undefined
      isLoaded.value = true
    } catch (cause) {
      if (!isAbort(cause)) problem.value = asProblem(cause)
    } finally {
      if (!signal.aborted) isLoading.value = false
    }
  }

  /** `isArrival`: somebody came to this address, maybe back to it; else it is asked anew. */
  function begin(question: CallsAsked, isArrival: boolean): Promise<void> {
    stopping.abort()
    stopping = new AbortController()
    asked = question
    running.clear()
    const held = isArrival ? takeKept<Held>(KEPT) : undefined
    if (held) {
      takeBack(held)
      return Promise.resolve()
    }
    cursor = undefined
    isAtEnd = false
    isLoaded.value = false
    return load()
  }

  // Who comes back to a list finds the rows that it had.
  useKept<Held>(KEPT, () =>
    isLoaded.value ? { rows: rows.value, total: total.value, cursor, isAtEnd } : undefined,
  )
  function takeBack(held: Held) {
    rows.value = held.rows
    total.value = held.total
    cursor = held.cursor
    isAtEnd = held.isAtEnd
    for (const row of held.rows) if (row.outcome === null) running.add(row.id)
    isLoading.value = false
    isLoaded.value = true
    problem.value = null
  }

  async function more() {
    if (!isLoading.value && !isAtEnd && !problem.value) await load()
  }

  /** What is listed as running and has settled is shown settled. */
  function settle(calls: readonly Call[]) {
    const settled = calls.filter((call) => call.outcome !== null && running.delete(call.id))
    if (!settled.length) return
    const byId = new Map(settled.map((call) => [call.id, call]))
    rows.value = rows.value.map((row) => byId.get(row.id) ?? row)
  }

  return { rows, total, isLoading, isLoaded, problem, begin, more, retry: load, settle, stop: () => stopping.abort() }
}
