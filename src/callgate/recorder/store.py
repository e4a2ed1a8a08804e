"""The record's embedded store: one DuckDB file, written through appenders, one transaction a batch.

How far each journal segment was read is written in the same transaction as its rows, so a crash in between
neither loses nor doubles a row. After an error the store is to be closed and opened anew: DuckDB may have
given the database up, and only the watermark knows what was written. No foreign keys and no secondary
indexes: measured, they cost half the CPU and make deletes 200 times slower.
"""

import shutil
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb
import msgspec

from callgate.recorder.rows import EventRow, GapRow, HopRow, Row, SessionRow

_SCHEMA_VERSION = 1
_SCHEMA = """
CREATE TABLE IF NOT EXISTS schema_versions (version INTEGER, applied_at TIMESTAMP);
CREATE TABLE IF NOT EXISTS watermarks (segment VARCHAR, byte_offset BIGINT);
CREATE TABLE IF NOT EXISTS sessions (
    session_id VARCHAR, created_at TIMESTAMP, last_seen_at TIMESTAMP, ended_at TIMESTAMP,
    client_name VARCHAR, client_version VARCHAR, client_protocol VARCHAR, era VARCHAR, transport VARCHAR,
    principal VARCHAR, workspace VARCHAR, tool_call_count BIGINT, error_count BIGINT, total_tokens BIGINT
);
CREATE TABLE IF NOT EXISTS rpc_events (
    id UUID, ts TIMESTAMP, session_id VARCHAR, method VARCHAR, server_name VARCHAR, server_version VARCHAR,
    server_protocol VARCHAR, tool_name VARCHAR, source_id VARCHAR, duration_ms DOUBLE, ok BOOLEAN,
    error VARCHAR, error_code VARCHAR, outcome VARCHAR, ended_by VARCHAR, client VARCHAR,
    request_json VARCHAR, response_json VARCHAR, annotations VARCHAR, request_bytes BIGINT,
    response_bytes BIGINT, sql VARCHAR, statement_type VARCHAR, mode VARCHAR, verdict VARCHAR, rule VARCHAR,
    tables VARCHAR[], rows BIGINT, truncated BOOLEAN, trace_id VARCHAR
);
CREATE TABLE IF NOT EXISTS rpc_event_upstreams (
    event_id UUID, server_name VARCHAR, request_json VARCHAR, response_json VARCHAR, duration_ms DOUBLE,
    ok BOOLEAN, error VARCHAR, cached BOOLEAN
);
CREATE TABLE IF NOT EXISTS gaps ("from" TIMESTAMP, "to" TIMESTAMP, count BIGINT, reason VARCHAR);
"""
# One statement for all sessions of a batch: it costs 1.5 ms whether there are 1 or 64 of them, one for each
# costs 0.6 ms every time.
_ADD_SUMS = """
UPDATE sessions
SET tool_call_count = tool_call_count + calls, error_count = error_count + errors,
    last_seen_at = greatest(last_seen_at, last_ts)
FROM (
    SELECT unnest($1::VARCHAR[]) AS summed_id, unnest($2::BIGINT[]) AS calls, unnest($3::BIGINT[]) AS errors,
        unnest($4::TIMESTAMP[]) AS last_ts
)
WHERE session_id = summed_id
"""
# Nothing in a record may reach out of it: no files, no network, no extensions, and nobody switches that back.
_SETTINGS: dict[str, str | bool | int | float | list[str]] = {
    "enable_external_access": "false",
    "autoload_known_extensions": "false",
    "autoinstall_known_extensions": "false",
    "memory_limit": "256MB",
    "threads": "1",
}


@dataclass(slots=True)
class Batch:
    """Rows of one transaction, and how far into their segment they reach."""

    segment: str
    byte_offset: int = 0
    sessions: list[SessionRow] = field(default_factory=list[SessionRow])
    events: list[EventRow] = field(default_factory=list[EventRow])
    gaps: list[GapRow] = field(default_factory=list[GapRow])

    @property
    def is_empty(self) -> bool:
        return not (self.sessions or self.events or self.gaps)

    def add(self, row: Row) -> None:
        if isinstance(row, EventRow):
            self.events.append(row)
        elif isinstance(row, GapRow):
            self.gaps.append(row)
        else:
            self.sessions.append(row)


class Store:
    """Used from the recorder's thread; `cursor` hands out separate ones for reading elsewhere."""

    def __init__(self, path: Path) -> None:
        if not path.exists():
            _make_file(path)
        self._path = path
        self._connection = duckdb.connect(str(path), config=_SETTINGS)
        try:
            self._connection.execute(_SCHEMA)
            if not self._connection.execute("SELECT 1 FROM schema_versions").fetchone():
                self._connection.execute("INSERT INTO schema_versions VALUES (?, now())", [_SCHEMA_VERSION])
            self._connection.execute("SET lock_configuration = true")
            self._keep_private()
        except BaseException:
            self._connection.close()
            raise

    def close(self) -> None:
        self._connection.close()

    def cursor(self) -> duckdb.DuckDBPyConnection:
        return self._connection.cursor()

    def watermarks(self) -> dict[str, int]:
        rows: list[Any] = self._connection.execute("SELECT segment, byte_offset FROM watermarks").fetchall()
        return dict(rows)

    def forget_watermark(self, segment: str) -> None:
        self._connection.execute("DELETE FROM watermarks WHERE segment = ?", [segment])

    def write(self, batch: Batch) -> None:
        self._connection.begin()
        try:
            self._write_sessions(batch.sessions)
            self._write_events(batch.events)
            for gap in batch.gaps:
                self._connection.execute("INSERT INTO gaps VALUES (?, ?, ?, ?)", _values(gap))
            self.forget_watermark(batch.segment)
            self._connection.execute(
                "INSERT INTO watermarks VALUES (?, ?)", [batch.segment, batch.byte_offset]
            )
            self._connection.commit()
        except BaseException:
            with suppress(
                duckdb.Error
            ):  # DuckDB may have rolled back already; the first error is the one to tell
                self._connection.rollback()
            raise
        self._keep_private()

    def _keep_private(self) -> None:
        """DuckDB makes its files for everyone to read, and its log (WAL) again and again. (The folder keeps
        others out in between; the umask is no help, it belongs to the whole process.)"""
        for path in (self._path, _wal(self._path)):
            with suppress(FileNotFoundError):
                path.chmod(0o600)

    def _write_sessions(self, sessions: Iterable[SessionRow]) -> None:
        """Opening inserts; closing only marks the end: the sums that grew in between stay."""
        for session in sessions:
            found = self._connection.execute(
                "UPDATE sessions SET last_seen_at = ?, ended_at = ? WHERE session_id = ? RETURNING 1",
                [session.last_seen_at, session.ended_at, session.session_id],
            ).fetchone()
            if found is None:
                marks = ", ".join("?" * len(SessionRow.__struct_fields__))
                self._connection.execute(f"INSERT INTO sessions VALUES ({marks})", _values(session))  # noqa: S608

    def _write_events(self, events: Sequence[EventRow]) -> None:
        if not events:
            return
        appender = self._connection.appender("rpc_events")
        appender.append_rows([_values(event)[:-1] for event in events])  # the last field, hops, is a table
        appender.flush()
        hops = [(event.id, *_values(hop)) for event in events for hop in event.hops]
        if hops:
            appender = self._connection.appender("rpc_event_upstreams")
            appender.append_rows(hops)
            appender.flush()
        self._connection.execute(_ADD_SUMS, _sums(events))


def _make_file(path: Path) -> None:
    """Made aside and moved in whole: a full disk or a crash must not leave half a file that none can open."""
    aside = path.with_name(f"{path.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(mode=0o700)
    try:
        made = aside / path.name
        duckdb.connect(str(made), config=_SETTINGS).close()
        made.chmod(0o600)
        # The log of a file that was moved away alone: it fits no other, and DuckDB would refuse both.
        with suppress(FileNotFoundError):
            _wal(path).rename(f"{_wal(path)}.left")
        made.rename(path)
    finally:
        shutil.rmtree(aside, ignore_errors=True)


def _wal(path: Path) -> Path:
    return path.with_name(f"{path.name}.wal")


def _values(row: SessionRow | EventRow | HopRow | GapRow) -> tuple[Any, ...]:
    return msgspec.structs.astuple(row)


def _sums(events: Sequence[EventRow]) -> list[list[Any]]:
    """The columns of `_ADD_SUMS`."""
    sums: dict[str, list[Any]] = {}
    for event in events:
        entry = sums.setdefault(event.session_id, [0, 0, event.ts])
        entry[0] += event.method == "tools/call"
        entry[1] += not event.ok
        entry[2] = max(entry[2], event.ts)
    calls, errors, last_ts = map(list, zip(*sums.values(), strict=True))
    return [list(sums), calls, errors, last_ts]
