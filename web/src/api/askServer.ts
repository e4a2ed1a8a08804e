// Asks one server for what it offers beside tools. The gateway records each question like a client's.

import { api, read } from './client'
import { ApiProblem } from './problem'
import type { operations } from './schema'

type Body = operations['askServer']['requestBody']['content']['application/json']
export type AskMethod = Body['method']

/** What the server answered, and the id of the exchange in the record; its refusal is thrown as a problem. */
export async function askServer(name: string, method: AskMethod, params: Record<string, unknown> = {}) {
  const body = { method, params }
  const answer = await read(api.POST('/api/v1/servers/{name}/ask', { params: { path: { name } }, body }))
  if (answer.error) {
    const { code, message } = answer.error as { code?: unknown; message?: unknown }
    const isUnknown = code === METHOD_NOT_FOUND
    throw new ApiProblem(isUnknown ? 404 : 502, String(code), `${name} refused ${method}`, String(message ?? ''), '')
  }
  return { id: answer.id, result: answer.result ?? {} }
}

const METHOD_NOT_FOUND = -32601

/** All pages of a list, up to a bound that no person reads beyond. */
export async function listAll(name: string, method: AskMethod, member: string): Promise<Record<string, unknown>[]> {
  const found: Record<string, unknown>[] = []
  let cursor: unknown
  for (let page = 0; page < MOST_PAGES; page++) {
    const { result } = await askServer(name, method, cursor === undefined ? {} : { cursor })
    const items = result[member]
    if (Array.isArray(items)) found.push(...(items as Record<string, unknown>[]))
    cursor = result.nextCursor ?? undefined
    if (cursor === undefined) break
  }
  return found
}

const MOST_PAGES = 20
