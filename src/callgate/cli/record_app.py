"""The commands about the record, as typer reads them; what they do is imported when one is run."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from callgate.cli.options import (
    CallFilter,
    ConfigOption,
    JsonOption,
    ServerOption,
    SortOption,
    StateOption,
    ToolOption,
    grouped,
)
from callgate.config.sources.flags import Flags

_Limit = Annotated[int, typer.Option("--limit", "-n", min=1, max=1000, help="How many, at most.")]


def sessions(
    limit: _Limit = 20,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the sessions in the record, newest first."""
    from callgate.cli.commands.record_commands import run_sessions

    run_sessions(Flags(config=config, state_dir=state_dir), limit, as_json)


@grouped
def calls(
    which: CallFilter,
    sort: SortOption = "newest",
    limit: _Limit = 20,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List tool calls in the record, newest first."""
    from callgate.cli.commands.record_commands import run_calls

    run_calls(Flags(config=config, state_dir=state_dir), which, sort, limit, as_json)


def tail(
    server: ServerOption = None,
    tool: ToolOption = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show tool calls of the running gateway as they end. Ctrl-C stops."""
    from callgate.cli.commands.stream_commands import run_tail

    run_tail(Flags(config=config, state_dir=state_dir), server, tool, as_json)


def query(
    sql: Annotated[
        str, typer.Argument(help="One SELECT over sessions, rpc_events, …; - reads it from stdin.")
    ],
    max_rows: Annotated[int, typer.Option("--max-rows", min=1, max=10_000, help="Most rows shown.")] = 1000,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Query the record in SQL, read-only (tables: sessions, rpc_events, rpc_event_upstreams, gaps)."""
    from callgate.cli.commands.record_commands import run_query

    run_query(Flags(config=config, state_dir=state_dir), sql, max_rows, as_json)


@grouped
def export(
    *,
    file_format: Annotated[
        Literal["jsonl", "csv", "parquet"], typer.Option("--format", "-f", help="What to write.")
    ] = "jsonl",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; stdout if not given.")
    ] = None,
    which: CallFilter,
    method: Annotated[str | None, typer.Option("--method", help="Of this method only.")] = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
) -> None:
    """Write the record out: JSON lines, CSV or Parquet."""
    from callgate.cli.commands.stream_commands import run_export

    run_export(Flags(config=config, state_dir=state_dir), which, method, file_format, output)


def replay(
    call_id: Annotated[
        str, typer.Argument(help="The id of a recorded call (`callgate calls`), or its beginning or end.")
    ],
    arguments: Annotated[
        list[str] | None, typer.Argument(help="In place of recorded ones: key=value or key:=JSON.")
    ] = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a recorded call again, with its arguments or with others."""
    from callgate.cli.commands.record_commands import run_replay

    run_replay(Flags(config=config, state_dir=state_dir), call_id, arguments or [], as_json)


def add_to(app: typer.Typer) -> None:
    for command in (sessions, calls, tail, query, export, replay):
        app.command()(command)
