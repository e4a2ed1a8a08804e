// What a call is, in words and as data. Pure.

import type { WholeCall } from '@/api/client'
import { isObject, tryJson } from '@/format/parseJson'

/** The params as the client sent them; null when the record has not all of them. */
export function paramsOf(call: Pick<WholeCall, 'request_json'>): Record<string, unknown> | null {
  if (call.request_json === null) return {}
  const params = tryJson(call.request_json)
  return isObject(params) ? params : null
}

export function argumentsOf(call: Pick<WholeCall, 'request_json'>): Record<string, unknown> | null {
  const params = paramsOf(call)
  if (!params) return null
  return isObject(params.arguments) ? params.arguments : {}
}

/** What was called: a call of a tool that nobody offers has its name only in what was sent. */
export function calledName(call: Pick<WholeCall, 'tool' | 'method' | 'request_json'>): string {
  if (call.tool) return call.tool
  const name = call.method === 'tools/call' ? paramsOf(call)?.name : null
  return typeof name === 'string' && name ? name : call.method
}

type Fault = Pick<WholeCall, 'outcome' | 'ended_by' | 'server' | 'error_code'>

// The first word of a code says who must act.
const BY_FAMILY: Record<string, string> = {
  caller: 'The call itself was wrong',
  refused: 'Refused by the gateway',
  upstream: 'The server gave no usable answer',
  source: 'The database reported an error',
  bug: 'A fault of Callgate itself',
}
const BY_OUTCOME: Record<string, string> = {
  refused: 'Refused by the gateway',
  tool_error: 'The tool reported an error',
  failed: 'No usable answer',
  lost: 'Lost: the gateway stopped before it ended',
}

export function faultTitle(call: Fault): string {
  if (call.outcome === 'cancelled')
    return `Cancelled by the ${call.ended_by === 'upstream' ? 'server' : (call.ended_by ?? 'client')}`
  const family = BY_FAMILY[call.error_code?.split('.')[0] ?? '']
  if (family) return family
  if (call.outcome === 'failed' && call.ended_by === 'upstream')
    return `${call.server ?? 'The server'} answered with an error`
  return BY_OUTCOME[call.outcome ?? ''] ?? 'It failed'
}

/** What to do about an end that has no code. */
export function plainAdvice(call: Fault): string {
  if (call.outcome === 'cancelled') {
    return call.ended_by === 'client'
      ? 'The client gave up waiting, or somebody stopped it there.'
      : 'It was stopped before the answer came.'
  }
  if (call.outcome === 'lost')
    return 'Whether the server did what was asked is not known: look there before calling again.'
  if (call.outcome === 'tool_error')
    return 'The tool ran and said so itself: the agent read this message. Correct the arguments and call again.'
  return ''
}

/** claude-code/2.1 stays; a browser's line of ancestors is "browser". */
export function clientName(client: string | null): string {
  if (!client) return 'client'
  return client.startsWith('Mozilla/') ? 'browser' : (client.split(' ')[0] ?? client)
}

/** The server's name for people: a list asked of all servers has none of its own. */
export const serverName = (server: string | null) => (server === null || server === 'aggregate' ? 'gateway' : server)
export const isRealServer = (server: string | null): server is string => server !== null && server !== 'aggregate'
