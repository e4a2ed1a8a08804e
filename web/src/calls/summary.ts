// A call in one line. Pure.

import type { Call } from '@/api/client'
import { formatCount } from '@/format/number'

const oneLine = (text: string) => text.replace(/\s+/g, ' ').trim()

// What a query tool was given, before the gateway has told what it read in it.
const QUERY_ONLY = /^\{"(?:query|sql)":("(?:[^"\\]|\\.)*")\}$/

/** What was asked: the SQL, else the arguments without their braces. */
export function asked(call: Pick<Call, 'sql' | 'arguments'>): string {
  if (call.sql) return oneLine(call.sql)
  const told = oneLine(call.arguments ?? '')
  const query = QUERY_ONLY.exec(told)?.[1]
  if (query) return oneLine(JSON.parse(query) as string)
  return told === '{}' ? '' : told.replace(/^\{(.*)\}$/, '$1')
}

/** What came of it, when that is worth a word. */
export function becameOf(call: Pick<Call, 'error' | 'rows' | 'truncated'>): string {
  if (call.error) return oneLine(call.error)
  if (call.rows === null) return ''
  return `${formatCount(call.rows)} ${call.rows === 1 ? 'row' : 'rows'}${call.truncated ? ', cut' : ''}`
}

/** demo__query is "query" beside its server's name. */
export function toolWithoutServer(call: Pick<Call, 'tool' | 'server' | 'method'>): string {
  if (!call.tool) return call.method
  const prefix = `${call.server}__`
  return call.tool.startsWith(prefix) ? call.tool.slice(prefix.length) : call.tool
}
