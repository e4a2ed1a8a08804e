"""SQL that sums up a stretch of the record: $1 is its beginning, $2 its end."""

_STRETCH = "FROM rpc_events WHERE ts >= $1 AND ts < $2 AND sender = 'client' AND outcome IS NOT NULL"
_SUMS = (
    "count(*) AS calls, count(*) FILTER (NOT ok) AS errors,"
    " coalesce(sum(request_tokens + response_tokens), 0)::BIGINT AS tokens,"
    " round(quantile_cont(duration_ms, 0.5), 3) AS p50_ms,"
    " round(quantile_cont(duration_ms, 0.95), 3) AS p95_ms"
)
# Nobody reads more lines than these; a caller that makes up names must not make the answer grow.
_MOST = 200

TOTALS = f"SELECT {_SUMS}, count(DISTINCT session_id) AS sessions {_STRETCH}"
BY_TOOL = (
    f"SELECT server_name, tool_name, {_SUMS} {_STRETCH} AND tool_name IS NOT NULL"
    f" GROUP BY ALL ORDER BY calls DESC, tool_name LIMIT {_MOST}"
)
BY_SERVER = (
    f"SELECT server_name, {_SUMS} {_STRETCH} GROUP BY ALL ORDER BY calls DESC, server_name LIMIT {_MOST}"
)
BY_METHOD = f"SELECT method, {_SUMS} {_STRETCH} GROUP BY ALL ORDER BY calls DESC, method LIMIT {_MOST}"
BY_MINUTE = (
    "SELECT time_bucket(INTERVAL 1 MINUTE, ts) AS minute, method, count(*) AS calls,"
    f" count(*) FILTER (NOT ok) AS errors {_STRETCH} GROUP BY ALL ORDER BY minute, method LIMIT 10000"
)
