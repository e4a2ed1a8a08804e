// Questions people ask of a record first. Each runs as it stands on any record, in DuckDB files or in PostgreSQL;
// where ClickHouse has other words, `clickhouse` is what runs there.

export interface Example {
  title: string
  sql: string
  clickhouse?: string
}

export const EXAMPLES: Example[] = [
  {
    title: 'Slowest tools, last 24 hours',
    sql: `SELECT server_name, tool_name, count(*) AS calls,
       percentile_cont(0.5) WITHIN GROUP (ORDER BY duration_ms) AS p50_ms,
       percentile_cont(0.95) WITHIN GROUP (ORDER BY duration_ms) AS p95_ms
FROM rpc_events
WHERE method = 'tools/call' AND ts > now()::TIMESTAMP - INTERVAL '1 day'
GROUP BY server_name, tool_name
ORDER BY p95_ms DESC
LIMIT 20`,
    clickhouse: `SELECT server_name, tool_name, count() AS calls,
       quantile(0.5)(duration_ms) AS p50_ms,
       quantile(0.95)(duration_ms) AS p95_ms
FROM rpc_events
WHERE method = 'tools/call' AND ts > now() - INTERVAL 1 DAY
GROUP BY server_name, tool_name
ORDER BY p95_ms DESC
LIMIT 20`,
  },
  {
    title: 'Calls and errors per minute',
    sql: `SELECT date_trunc('minute', ts) AS minute, count(*) AS calls, count(*) FILTER (WHERE NOT ok) AS errors
FROM rpc_events
WHERE method = 'tools/call'
GROUP BY minute
ORDER BY minute DESC
LIMIT 240`,
    clickhouse: `SELECT toStartOfMinute(ts) AS minute, count() AS calls, countIf(NOT ok) AS errors
FROM rpc_events
WHERE method = 'tools/call'
GROUP BY minute
ORDER BY minute DESC
LIMIT 240`,
  },
  {
    title: 'What was refused, and why',
    sql: `SELECT ts, client, tool_name, rule, error_code, sql, id
FROM rpc_events
WHERE outcome = 'refused'
ORDER BY ts DESC
LIMIT 100`,
  },
  {
    title: 'Tables that agents read',
    sql: `SELECT source_id, unnest(tables) AS table_name, count(*) AS statements, sum(rows) AS rows_read
FROM rpc_events
WHERE sql IS NOT NULL AND verdict = 'allow'
GROUP BY source_id, table_name
ORDER BY statements DESC
LIMIT 50`,
    clickhouse: `SELECT source_id, arrayJoin(tables) AS table_name, count() AS statements, sum(rows) AS rows_read
FROM rpc_events
WHERE sql IS NOT NULL AND verdict = 'allow'
GROUP BY source_id, table_name
ORDER BY statements DESC
LIMIT 50`,
  },
  {
    title: 'Tokens by client and tool',
    sql: `SELECT client, tool_name, count(*) AS calls,
       sum(request_tokens) AS tokens_in, sum(response_tokens) AS tokens_out
FROM rpc_events
WHERE method = 'tools/call'
GROUP BY client, tool_name
ORDER BY tokens_out DESC
LIMIT 50`,
  },
  {
    title: 'Sessions, busiest first',
    sql: `SELECT session_id, client_name, era, transport, created_at, tool_call_count, error_count, total_tokens
FROM sessions
ORDER BY tool_call_count DESC
LIMIT 50`,
  },
  {
    title: 'What the record could not keep',
    sql: `SELECT *
FROM gaps
LIMIT 100`,
  },
]

/** An example in the words of the record's own SQL. */
export function sqlOf(example: Example, dialect: string | undefined): string {
  return (dialect === 'clickhouse' && example.clickhouse) || example.sql
}
