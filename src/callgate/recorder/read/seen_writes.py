"""Calls of tools declared read-only which were seen to write: what every store makes of what it finds. Pure.

What can be seen, and what it proves:
1. `statement`: our own SQL server let a statement through that writes. That is proof.
2. `notice`: the server said that a resource of its changed, on the call's own stream; or out of turn, while
   this call alone was under way there (one that may write counts for two seconds longer, as servers gather
   what changed). Nobody else *here* can have done it, but somebody outside of the gateway can.

A server that says nothing is not seen to write, whatever it does.
"""

import re
from collections.abc import Sequence
from datetime import datetime, timedelta

from callgate.ports.record_reader import TOOL_CALL, Row, SeenWrite

# A server that reports changes all day is looked at as far as this; each is held against every call of its.
MOST_NOTICES = 200
# The longest call whose notices are looked for: beyond, it is a listener and not a call.
LONGEST = timedelta(hours=1)
# Parts of the stores' SQL: methods that say a resource changed, and kinds of statement that write.
CHANGES = "('notifications/resources/updated', 'notifications/resources/list_changed')"
WRITES = "(INSERT|UPDATE|DELETE|REPLACE|MERGE|TRUNCATE|CREATE|ALTER|DROP|RENAME|COPY)"
_IS_WRITE = re.compile(rf"\b{WRITES}\b").search
_DECLARED = re.compile(r'"readOnlyHint"\s*:\s*true').search
# Of `calls` and what servers `said`: notices on a call's own stream, and others while a call was under way.
# As DuckDB and PostgreSQL both have it; {declared}: that the tool is declared read-only.
STREAM_AND_AROUND = """on_stream AS (
    SELECT calls.* FROM said JOIN calls USING (server_name, tool_name, session_id, rpc_id)
    WHERE said_at BETWEEN ts AND ended
), around AS (
    SELECT calls.*, notice, said_at <= ended AS is_under_way, {declared} AS declared
    FROM said JOIN calls USING (server_name)
    WHERE said.tool_name IS NULL AND said_at BETWEEN ts AND ended + INTERVAL '2 seconds'
)"""


def last_notice_at(until: datetime) -> datetime:
    """Of calls that began until then."""
    return min(until, datetime.max - LONGEST) + LONGEST  # noqa: DTZ901 - as the store's moments are


def stretch_of_calls(rows: Sequence[Row]) -> tuple[datetime, datetime] | None:
    moments = [row["ts"] for row in rows if row["method"] == TOOL_CALL]
    return (min(moments), max(moments)) if moments else None


def mark_seen(rows: Sequence[Row], by_notice: Sequence[Row]) -> None:
    """Adds `seen_to_write` to calls: the evidence, or None. What a statement proves is in the rows
    themselves; to look for it in SQL would be a scan, since a page may span the whole record."""
    evidence = {row["id"]: row["evidence"] for row in by_notice}
    for row in rows:
        if row["method"] == TOOL_CALL:
            row["seen_to_write"] = "statement" if _wrote(row) else evidence.get(row["id"])


def _wrote(row: Row) -> bool:
    """As the stores' SQL finds it over all rows."""
    is_let_through = row["verdict"] == "allow" and row["outcome"] == "answered"
    is_write = bool(_IS_WRITE(row["statement_type"] or ""))
    return is_let_through and is_write and bool(_DECLARED(row["annotations"] or ""))


def by_tool(rows: list[Row]) -> list[SeenWrite]:
    found: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        found.setdefault((row["server_name"] or "", row["tool_name"] or ""), []).append(row)
    seen: list[SeenWrite] = []
    for (server, tool), of_tool in found.items():
        last = max(of_tool, key=lambda row: row["ts"])
        calls = len({row["id"] for row in of_tool})
        seen.append(SeenWrite(server, tool, calls, last["id"], last["ts"], last["evidence"]))
    return seen
