// What was tried, in a few words; and waiting until what was added is up.

import { api, read } from '@/api/client'
import type { components } from '@/api/schema'
import { formatCount } from '@/format/number'

type Probed = components['schemas']['ProbedServer']

export function inFewWords(found: Probed): string {
  const words = [
    found.kind === 'sql' ? null : found.era && `MCP, ${found.era} (${found.protocol ?? '?'})`,
    found.version,
    found.account && `as ${found.account}`,
    found.kind === 'sql' && found.reachable ? (found.mode === 'read_only' ? 'read-only' : 'writes') : null,
    found.tools.length ? `${formatCount(found.tools.length)} ${found.tools.length === 1 ? 'tool' : 'tools'}, ${formatCount(found.tokens)} tokens` : null,
    found.tools.length ? `${formatCount(found.destructive)} destructive, ${formatCount(found.undeclared)} declare nothing` : null,
  ]
  return words.filter(Boolean).join(' · ')
}

const ATTEMPTS = 40
const PAUSE_MS = 500

/** Its state, when it is up or after 20 seconds. "unknown": the running gateway does not have it. */
export async function untilUp(name: string): Promise<'up' | 'down' | 'starting' | 'unknown'> {
  let state: 'up' | 'down' | 'starting' | 'unknown' = 'unknown'
  for (let at = 0; at < ATTEMPTS && state !== 'up'; at++) {
    if (at) await new Promise((resolve) => setTimeout(resolve, PAUSE_MS))
    try {
      state = (await read(api.GET('/api/v1/servers/{name}', { params: { path: { name } } }))).state
    } catch {
      state = 'unknown'
    }
    if (state === 'unknown' && at > 5) return state
  }
  return state
}
