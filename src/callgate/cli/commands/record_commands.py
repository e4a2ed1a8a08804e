"""`callgate sessions`, `calls`, `query` and `replay`: the record, asked from the terminal.

Through the gateway that runs on this state folder, else on the record's own files: the answers are the same.
"""

import json
import sys
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from callgate.app.commands.record_access import calling_api, record_api
from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.cli.commands.call_command import hint_and_code, read_arguments, show_result
from callgate.cli.log import log_to_stderr
from callgate.cli.options import CallFilter
from callgate.cli.tables import TableColumn, milliseconds, moment, print_table
from callgate.cli.terminal import Exit, print_json, say_error, stderr
from callgate.config.sources.flags import Flags
from callgate.config.specs.quantity import parse_duration_s
from callgate.model.error_codes import ALL, CALLER_BAD_PARAMS, CALLER_NOT_REPLAYABLE
from callgate.model.errors import CallerError

_Json = dict[str, Any]
_MASK = "***"
_SESSION_COLUMNS = (
    TableColumn("started"),
    TableColumn("client", shrinks=True),
    TableColumn("calls", is_number=True),
    TableColumn("errors", is_number=True),
    TableColumn("tokens", is_number=True, is_spare=True),
    TableColumn("last seen", is_spare=True),
    TableColumn("status", is_spare=True),
    TableColumn("era", is_spare=True),
    TableColumn("session"),
)
_CALL_COLUMNS = (
    TableColumn("time"),
    TableColumn("outcome"),
    TableColumn("ms", is_number=True),
    TableColumn("tool", shrinks=True),
    TableColumn("arguments", shrinks=True, is_spare=True),
    TableColumn("client", shrinks=True, is_spare=True),
    TableColumn("id"),
)
# Where the calls are ordered by it, it is shown.
_SORTED_COLUMNS = {
    "tokens": TableColumn("tokens", is_number=True),
    "rows": TableColumn("rows", is_number=True),
}


def run_sessions(flags: Flags, limit: int, as_json: bool) -> None:
    async def ask() -> _Json:
        async with record_api(load_config(flags)) as api:
            return await api.get("sessions", limit=limit)

    log_to_stderr()
    answer = run_loop(ask())
    if as_json:
        print_json(answer)
        return
    print_table(_SESSION_COLUMNS, [_session_row(session) for session in answer["sessions"]])
    _say_rest(len(answer["sessions"]), answer["total"], "sessions")


def run_calls(flags: Flags, which: CallFilter, sort: str, limit: int, as_json: bool) -> None:
    async def ask() -> _Json:
        async with record_api(load_config(flags)) as api:
            return await api.get("tool-calls", limit=limit, order=sort, **filter_query(which))

    log_to_stderr()
    answer = run_loop(ask())
    if as_json:
        print_json(answer)
        return
    measure = sort.rpartition("_")[2]
    columns = [*_CALL_COLUMNS]
    if measure in _SORTED_COLUMNS:
        columns.insert(3, _SORTED_COLUMNS[measure])
    print_table(columns, [_call_row(call, measure) for call in answer["tool_calls"]])
    fitting = "calls" if which == CallFilter() else "calls that fit"
    _say_rest(len(answer["tool_calls"]), answer["total"], fitting)


def run_query(flags: Flags, sql: str, max_rows: int, as_json: bool) -> None:
    text = sys.stdin.read() if sql == "-" else sql

    async def ask() -> _Json:
        async with record_api(load_config(flags)) as api:
            return await api.post("query", body={"sql": text, "max_rows": max_rows})

    log_to_stderr()
    answer = run_loop(ask())
    if as_json:
        print_json(answer)
        return
    rows: list[list[Any]] = answer["rows"]
    print_table([_query_column(title, at, rows) for at, title in enumerate(answer["columns"])], rows)
    if answer["truncated"]:
        stderr().print(f"Only the first {len(rows)} rows; --max-rows shows more", style="dim")


def run_replay(flags: Flags, call_id: str, pairs: list[str], as_json: bool) -> None:
    async def ask() -> _Json:
        async with calling_api(load_config(flags)) as api:
            body: _Json = {}
            if pairs:
                recorded = await api.get("tool-calls", call_id)
                tools = (await api.get("tools"))["tools"]
                body = {"arguments": _edited(recorded, tools, pairs)}
            return await api.post("tool-calls", call_id, "replay", body=body)

    log_to_stderr()
    answer = run_loop(ask())
    if answer["error"] is None:
        show_result(answer["result"], as_json)
        return
    fault: _Json = answer["error"]
    hint, code = hint_and_code(fault.get("data"))
    if as_json:
        print_json({"error": fault})
    else:
        say_error(fault["message"], hint or "", code)
    sys.exit(ALL[code].exit_code if code in ALL else Exit.ERROR)


def filter_query(which: CallFilter) -> _Json:
    """As the API takes it. Raises CallerError."""
    return {
        "session_id": which.session,
        "server": which.server,
        "tool": which.tool,
        "outcome": which.outcome,
        "client": which.client,
        "error_code": which.error,
        "min_duration_ms": _read_milliseconds(which.slower_than),
        "since": read_moment(which.since, "--since"),
        "until": read_moment(which.until, "--until"),
        "q": which.text,
    }


def _read_milliseconds(text: str | None) -> float | None:
    if text is None:
        return None
    seconds = parse_duration_s(text)
    if seconds is None:
        raise CallerError(
            CALLER_BAD_PARAMS, f"--slower-than {text[:50]!r} is not a duration", hint="Write 500ms, 2s or 1m"
        )
    return seconds * 1000


def read_moment(text: str | None, option: str) -> str | None:
    """`15m` is that long ago; else a date, or a date and time, in the person's own zone unless it says."""
    if text is None:
        return None
    ago_s = parse_duration_s(text)
    try:
        if ago_s is not None:
            at = datetime.now(UTC) - timedelta(seconds=ago_s)
        else:
            at = datetime.fromisoformat(text).astimezone(UTC)
    except (ValueError, OverflowError) as problem:
        raise CallerError(
            CALLER_BAD_PARAMS,
            f"{option} {text[:50]!r} is not a valid timestamp",
            hint="Write 15m, 2h, 1d, 2026-11-15 or 2026-11-15T08:30",
        ) from problem
    return at.isoformat()


def _session_row(session: _Json) -> Sequence[Any]:
    client = " ".join(part for part in (session["client_name"], session["client_version"]) if part)
    return (
        moment(session["created_at"]),
        client,
        session["tool_call_count"],
        session["error_count"],
        session["total_tokens"],
        moment(session["last_seen_at"]),
        session["status"],
        session["era"],
        session["session_id"],
    )


def _call_row(call: _Json, measure: str) -> Sequence[Any]:
    known = [tokens for tokens in (call["request_tokens"], call["response_tokens"]) if tokens is not None]
    sorted_by = {"tokens": sum(known) if known else None, "rows": call["rows"]}
    return (
        moment(call["timestamp"]),
        call["outcome"] or "open",
        milliseconds(call["duration_ms"]),
        *([sorted_by[measure]] if measure in sorted_by else []),
        call["tool"],
        call["sql"] or call["arguments"],
        call["client"],
        call["id"],
    )


def _query_column(title: str, at: int, rows: list[list[Any]]) -> TableColumn:
    is_number = any(isinstance(row[at], (int, float)) for row in rows)
    return TableColumn(title, is_number=is_number, shrinks=not is_number)


def _edited(recorded: _Json, tools: list[_Json], pairs: list[str]) -> _Json:
    """The recorded arguments with those of the person in their place."""
    schemas: dict[str, _Json] = {tool["name"]: tool["input_schema"] for tool in tools}
    schema = schemas.get(recorded["tool"], {})
    try:
        arguments: _Json = json.loads(recorded["request_json"] or "{}").get("arguments", {})
    except json.JSONDecodeError:  # cut: nothing of it can be relied on
        arguments = {}
    edited = arguments | read_arguments(pairs, schema)
    if _MASK in json.dumps(edited):
        masked = ", ".join(name for name, value in edited.items() if _MASK in json.dumps(value))
        raise CallerError(
            CALLER_NOT_REPLAYABLE,
            f"Secrets were removed from the recorded arguments: {masked}",
            hint="Give each of them again, as key=value",
        )
    return edited


def _say_rest(shown: int, total: int, what: str) -> None:
    if shown < total:
        stderr().print(f"{shown} of {total} {what}; --limit shows more", style="dim")
    elif not total:
        stderr().print(f"No {what} in the record", style="dim")
