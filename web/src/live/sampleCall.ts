// The call that "run a sample call" makes: something that only reads, whatever is behind this gateway.

import type { Server } from '@/api/client'

export interface SampleCall {
  tool: string
  arguments: Record<string, unknown>
}

const DEMO: SampleCall = { tool: 'demo__query', arguments: { query: 'SELECT count(*) AS orders FROM shop.orders' } }

export function sampleCall(servers: readonly Server[]): SampleCall | null {
  const tools = servers.filter((server) => server.state === 'up').flatMap((server) => server.tools)
  if (tools.some((tool) => tool.name === DEMO.tool)) return DEMO
  const harmless = tools.filter((tool) => tool.annotations?.readOnlyHint === true)
  const free = harmless.find((tool) => !(tool.input_schema.required as unknown[] | undefined)?.length)
  if (free) return { tool: free.name, arguments: {} }
  const query = harmless.find((tool) => tool.native_name === 'query')
  return query ? { tool: query.name, arguments: { query: 'SELECT 1' } } : null
}
