// How a server is told in a few words.

import type { Server } from '@/api/client'
import { formatCount } from '@/format/number'

const ENGINES: Record<string, string> = {
  mysql: 'MySQL',
  mariadb: 'MariaDB',
  postgres: 'PostgreSQL',
  sqlite: 'SQLite',
  duckdb: 'DuckDB',
}

/** "SQLite 3.40.1", "MCP server · 2.0.0 · 2025-11-25 (legacy)" */
export function inWords(server: Server): string {
  if (server.kind === 'sql') {
    const engine = ENGINES[server.engine ?? ''] ?? server.engine ?? 'SQL source'
    // A server says best what it is: one configured as mysql may be a MariaDB.
    const namesItself = Object.values(ENGINES).some((name) => server.version?.includes(name))
    return server.version && namesItself ? server.version : [engine, server.version].filter(Boolean).join(' ')
  }
  const era = server.protocol && server.era ? `${server.protocol} (${server.era})` : server.protocol
  return ['MCP server', server.version, era].filter(Boolean).join(' · ')
}

const LIMITS: Record<string, string> = {
  timeout_s: 'Time for a call',
  start_timeout_s: 'Time to start',
  max_rows: 'Most rows',
  character_limit: 'Most characters',
  pool_size: 'Connections',
}

/** Label, value and the name of the setting, in the operator's order. */
export function limitsInWords(limits: Server['limits']): [label: string, value: string, setting: string][] {
  return Object.entries(limits).map(([setting, value]) => [
    LIMITS[setting] ?? setting,
    setting.endsWith('_s') ? `${formatCount(value)} s` : formatCount(value),
    setting,
  ])
}
