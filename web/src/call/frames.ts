// The JSON-RPC messages of an exchange, put together again from what the record keeps: ids and payloads stay the text
// they were. Pure.

import { isObject, tryJson } from '@/format/parseJson'

const joined = (members: [string, string | null][]) =>
  `{${members
    .filter(([, text]) => text !== null)
    .map(([key, text]) => `${JSON.stringify(key)}:${text}`)
    .join(',')}}`

export function requestFrame(method: string, rpcId: string | null, params: string | null): string {
  return joined([
    ['jsonrpc', '"2.0"'],
    ['id', rpcId],
    ['method', JSON.stringify(method)],
    ['params', params],
  ])
}

/** A JSON-RPC error has a number and a message; a result never both as such. */
export function isErrorBody(body: unknown): body is { code: number; message: string; data?: unknown } {
  return isObject(body) && typeof body.code === 'number' && typeof body.message === 'string' && !('content' in body)
}

export function responseFrame(rpcId: string | null, response: string | null, ok: boolean | null): string | null {
  if (response === null) return null
  const isFault = ok !== true && isErrorBody(tryJson(response))
  return joined([
    ['jsonrpc', '"2.0"'],
    ['id', rpcId],
    [isFault ? 'error' : 'result', response],
  ])
}
