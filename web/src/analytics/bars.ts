// The sums of /stats as bars with names. Pure.

import type { Stats } from '@/api/client'
import { outcomeLook } from '@/components/outcome'
import type { Bar } from './BarList.vue'

type Sums = Stats['totals']
const NONE = 'none'

const bar = (name: string | null, sums: Sums, detail?: string): Bar => ({
  key: `${name ?? ''} ${detail ?? ''}`,
  name: name ?? NONE,
  detail,
  calls: sums.calls,
  errors: sums.errors,
  p95_ms: sums.p95_ms,
  tokens: sums.tokens,
})

export const toolBars = (stats: Stats) => stats.by_tool.map((one) => bar(one.tool, one, one.server ? `on ${one.server}` : undefined))
export const serverBars = (stats: Stats) => stats.by_server.map((one) => bar(one.server, one))
export const clientBars = (stats: Stats) => stats.by_client.map((one) => bar(one.client, one))
export const methodBars = (stats: Stats) => stats.by_method.map((one) => bar(one.method, one))
export const errorBars = (stats: Stats) =>
  stats.by_error.map((one) => ({ ...bar(one.error_code, one, outcomeLook(one.outcome).label), outcome: one.outcome }))
