// A value of the configuration as it is typed, and back; and the values by their tables.

import type { ConfigValue } from './useConfig'

export function asText(value: unknown): string {
  if (value === null || value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** What the file is to hold. Throws for text that is not of the kind. */
export function fromText(text: string, kind: string): unknown {
  const plain = text.trim()
  if (kind === 'boolean') return plain === 'true'
  if (kind === 'integer' || kind === 'number') {
    // A duration in seconds may be a variable: "${TIMEOUT}".
    const number = Number(plain)
    return plain !== '' && Number.isFinite(number) ? number : text
  }
  if (kind === 'array' || kind === 'object') {
    const value: unknown = JSON.parse(plain || (kind === 'array' ? '[]' : '{}'))
    if (Array.isArray(value) !== (kind === 'array') || typeof value !== 'object' || value === null) {
      throw new Error(kind === 'array' ? 'Write a list: ["a", "b"]' : 'Write a table: {"a": "b"}')
    }
    return value
  }
  return text
}

/** `sources.shop.dsn` belongs to `sources.shop`, `record.keep` to `record`. */
export function tableOf(keyPath: string): string {
  const parts = keyPath.match(/"(?:[^"\\]|\\.)*"|\[\d+\]|[^.[\]"]+/g) ?? [keyPath]
  const isNamed = ['sources', 'mcpServers', 'principals', 'tools'].includes(parts[0] ?? '') && parts.length > 2
  if (isNamed) return parts[1]?.startsWith('[') ? `${parts[0]}${parts[1]}` : `${parts[0]}.${parts[1]}`
  return parts.length > 1 ? (parts[0] ?? '') : ''
}

export function byTable(values: ConfigValue[]): [string, ConfigValue[]][] {
  const tables = new Map<string, ConfigValue[]>()
  for (const value of values) {
    const table = tableOf(value.key_path)
    tables.set(table, [...(tables.get(table) ?? []), value])
  }
  return [...tables]
}
