"""`callgate tail` and `callgate export`: what does not come in one piece."""

import codecs
import json
import sys
from contextlib import aclosing
from pathlib import Path
from typing import Any, Protocol

from callgate.app.commands.record_access import live_api, not_running, record_api
from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.cli.commands.record_commands import filter_query
from callgate.cli.log import log_to_stderr
from callgate.cli.options import CallFilter
from callgate.cli.private_file import private_file
from callgate.cli.tables import milliseconds, moment
from callgate.cli.terminal import print_json_line, stderr, stdout
from callgate.config.sources.flags import Flags
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.model.terminal_text import one_safe_line
from callgate.wire.framing.sse import SseDecoder

_Json = dict[str, Any]
_ARGUMENTS_CHARS = 100
_STYLES = {"answered": "green", "tool_error": "yellow", "refused": "magenta", "failed": "red", "lost": "red"}


def run_tail(flags: Flags, server: str | None, tool: str | None, as_json: bool) -> None:
    """Until interrupted; raises SetupError when the gateway ends."""

    async def follow() -> None:
        async with live_api(load_config(flags)) as api:
            decoder = SseDecoder()
            async with aclosing(api.stream("events")) as pieces:
                async for piece in pieces:
                    for event in decoder.feed(piece):
                        if event.data:
                            _show_event(json.loads(event.data), server, tool, as_json)
        raise not_running()

    log_to_stderr()
    run_loop(follow())


def _show_event(event: _Json, server: str | None, tool: str | None, as_json: bool) -> None:
    kind, data = event["type"], event["data"]
    if kind == "events.missed":
        stderr().print(f"… {data['count']} more were left out: this terminal is too slow", style="dim")
    if (
        kind != "tool_calls.settled"
        or server not in (None, data["server"])
        or tool not in (None, data["tool"])
    ):
        return
    if as_json:
        print_json_line(data)
        return
    from rich.text import Text

    said = (data["sql"] or data["arguments"] or "")[:_ARGUMENTS_CHARS]
    line = Text(moment(data["timestamp"]) + " ")
    line.append(f"{data['outcome']:10}", style=_STYLES.get(data["outcome"], ""))
    line.append(f" {milliseconds(data['duration_ms']):>7} ms  {one_safe_line(data['tool'])}  ")
    line.append(one_safe_line(said), style="dim")
    stdout().print(line, soft_wrap=not sys.stdout.isatty(), no_wrap=True, overflow="ellipsis")


class _Shown:
    """Stands for a file, and shows its text on the terminal. A pipe gets the bytes as they are."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")

    def write(self, data: bytes) -> None:
        sys.stdout.write(self._decoder.decode(data))

    def flush(self) -> None:
        sys.stdout.flush()


class _Sink(Protocol):
    def write(self, data: bytes, /) -> object: ...


def run_export(
    flags: Flags, which: CallFilter, method: str | None, file_format: str, output: Path | None
) -> None:
    if output is None and file_format == "parquet" and sys.stdout.isatty():
        raise CallerError(
            CALLER_BAD_PARAMS, "Parquet output needs --output FILE", hint="Or redirect stdout to a file"
        )

    async def copy(file: _Sink) -> None:
        from rich.progress import (
            DownloadColumn,
            Progress,
            SpinnerColumn,
            TimeElapsedColumn,
            TransferSpeedColumn,
        )

        columns = (SpinnerColumn(), DownloadColumn(), TransferSpeedColumn(), TimeElapsedColumn())
        async with record_api(load_config(flags)) as api:
            with Progress(*columns, console=stderr(), transient=True, disable=not sys.stderr.isatty()) as bar:
                task = bar.add_task("export", total=None)
                wanted = {"format": file_format, "method": method, **filter_query(which)}
                async with aclosing(api.stream("export", **wanted)) as pieces:
                    async for piece in pieces:
                        file.write(piece)
                        bar.advance(task, len(piece))

    log_to_stderr()
    if output is None:
        file = _Shown() if sys.stdout.isatty() else sys.stdout.buffer
        run_loop(copy(file))
        file.flush()
        return
    with private_file(output) as file:
        run_loop(copy(file))
    stderr().print(f"{output}: {output.stat().st_size:,} bytes", style="dim", markup=False)
