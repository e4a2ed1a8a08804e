// The sums of /stats as bars with names. Pure.

import type { Stats } from '@/api/client'
import { outcomeLook } from '@/components/outcome'
import type { Term, TermKey } from '@/filters/terms'

export interface Bar {
  key: string
  name: string
  detail?: string
  terms: Omit<Term, 'isExcluded'>[] // what a click filters by: all of them
  calls: number
  errors: number // without what was refused
  refused: number
  p95_ms: number | null
  tokens: number
}

type Sums = Stats['totals']
interface Named {
  name: string
  detail?: string
  terms: Bar['terms']
}

const bar = ({ name, detail, terms }: Named, sums: Sums): Bar => ({
  key: JSON.stringify(terms),
  name,
  detail,
  terms,
  calls: sums.calls,
  errors: sums.errors - sums.refused,
  refused: sums.refused,
  p95_ms: sums.p95_ms,
  tokens: sums.tokens,
})
const by = (key: TermKey, value: string | null, nobody = '', detail?: string): Named => ({
  name: value ?? nobody,
  detail,
  terms: [{ key, value: value ?? '' }], // the empty value stands for "has none"
})

// An error that the gateway did not find itself has no code of ours: the words are those of whoever reported it.
const REPORTED: Record<string, string> = { tool_error: "the tool's own error", failed: "the server's own error" }

function errorNamed(outcome: string, code: string | null): Named {
  const { label } = outcomeLook(outcome)
  if (code !== null) return by('error_code', code, '', label)
  const name = REPORTED[outcome] ?? label
  const terms: Bar['terms'] = [
    { key: 'outcome', value: outcome },
    { key: 'error_code', value: '' },
  ]
  return { name, detail: name === label ? undefined : label, terms }
}

export const toolBars = (stats: Stats) =>
  stats.by_tool.map((one) => bar(by('tool', one.tool, '', one.server ? `on ${one.server}` : undefined), one))
export const serverBars = (stats: Stats) => stats.by_server.map((one) => bar(by('server', one.server, 'no server'), one))
export const clientBars = (stats: Stats) => stats.by_client.map((one) => bar(by('client', one.client), one))
export const methodBars = (stats: Stats) => stats.by_method.map((one) => bar(by('method', one.method), one))
export const errorBars = (stats: Stats) => stats.by_error.map((one) => bar(errorNamed(one.outcome, one.error_code), one))
