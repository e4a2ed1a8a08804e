"""`callgate serve`: run the gateway and tell the person at the terminal what it does."""

import logging
import os
import shlex
import shutil
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import callgate
from callgate.app.loop import run_loop
from callgate.app.serve import Serving, serve
from callgate.app.setup.loading import load_config
from callgate.cli.config_origin import origin_in_words
from callgate.cli.log import LogFormat, LogLevel, log_options, log_to_stderr
from callgate.cli.terminal import Exit, print_json_line, stderr
from callgate.config.load import Loaded
from callgate.config.mcp_clients import Door, claude_code_command
from callgate.config.paths import record_folder
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config
from callgate.config.specs.listen_address import UNIX
from callgate.model.health import State
from callgate.model.terminal_text import one_safe_line

_log = logging.getLogger(__name__)

_MAX_NOTES = 20
_MARKS = {State.UP: "[green]●[/]", State.STARTING: "[dim]○[/]", State.DOWN: "[red]✗[/]"}
# Set where nobody sits in front of a screen, or sits in front of another machine's.
_ELSEWHERE = ("CI", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
_SAMPLE = "'query=SELECT count(*) FROM shop.orders'"


@dataclass(frozen=True, slots=True)
class ServeOrder:
    """What was written on the command line; None where nothing was."""

    config: Path | None = None
    host: str | None = None
    port: int | None = None
    state_dir: Path | None = None
    workers: str | None = None
    as_json: bool = False  # the announcement, for a program that waits for it
    opens: bool | None = None  # the page
    log_level: LogLevel | None = None
    log_format: LogFormat = LogFormat.TEXT
    quiet: bool = False  # no announcement for people
    addresses: tuple[str, ...] = ()
    is_bare: bool = False


def run_serve(order: ServeOrder) -> None:
    log_to_stderr(log_options(order.log_level, order.log_format, order.quiet))
    opens_page = wants_page(order.opens, is_bare=order.is_bare)
    loaded = load_config(
        Flags(order.config, order.host, order.port, order.state_dir, order.addresses, order.workers)
    )

    def on_ready(serving: Serving) -> None:
        if order.as_json:
            _announce_json(serving)
        elif order.quiet or order.log_format is LogFormat.JSON:
            _announce_in_log(serving)
        else:
            _announce(serving)
        if opens_page and not serving.url.startswith(UNIX):
            _open_page(f"{serving.url}/")

    if _run(loaded, on_ready) == signal.SIGINT:
        sys.exit(Exit.INTERRUPTED)


def _run(loaded: Loaded, on_ready: Callable[[Serving], None]) -> int:
    if loaded.config.server.workers == 1:
        return run_loop(serve(loaded, on_ready))
    from callgate.app.workers.start import run_workers

    return run_workers(loaded, on_ready)


def _announce(serving: Serving) -> None:
    console = stderr()
    config = serving.loaded.config
    console.print(f"[bold]Callgate[/] {callgate.__version__} is ready")
    if serving.url.startswith(UNIX):
        console.print(f"  listens on    {one_safe_line(serving.url)}", markup=False)
    else:
        console.print(f"  web page      [bold]{serving.url}/[/]")
        console.print(f"  MCP endpoint  [bold]{serving.url}/mcp[/]")
    origin = origin_in_words(serving.loaded, "none found: all defaults")
    console.print(f"  config        {one_safe_line(origin)}", markup=False)
    if config.server.workers > 1:
        console.print(f"  workers       {config.server.workers} processes")
    if config.is_empty:
        console.print("  serving       the read-only demo shop, since no source and no server is configured")
    console.print(f"  record        {one_safe_line(_record_in_words(config))}", markup=False)
    for entry in serving.health:
        console.print(f"  {_MARKS[entry.state]}", end=" ")
        console.print(one_safe_line(f"{entry.name}  {entry.detail}"), markup=False)
    for warning in _warnings(serving):
        console.print("[yellow]Warning:[/]", end=" ")
        console.print(one_safe_line(warning), markup=False)
    for note in _notes(serving):
        console.print(one_safe_line(f"Note: {note}"), style="dim", markup=False)
    console.print("Try it from another terminal:", style="dim")
    if config.is_empty:
        console.print(f"  {_program()} call demo__query {_SAMPLE}", markup=False)
    if serving.url.startswith(UNIX):
        console.print(
            f"  curl --unix-socket {shlex.quote(serving.url.removeprefix(UNIX))} http://localhost/healthz",
            markup=False,
        )
    else:
        console.print(f"  {_claude_line(serving)}", markup=False)


def _record_in_words(config: Config) -> str:
    folder = record_folder(config)
    if not config.record.enabled:
        return "off"
    if not config.store.is_database:
        return str(folder)
    kept = config.store.clickhouse or config.store
    return f"{kept.shown} (journal in {folder})"


def _announce_in_log(serving: Serving) -> None:
    """Where no greeting is wanted, or every line must be JSON: the warnings are still to be heard."""
    _log.info("Callgate %s is ready: %s", callgate.__version__, " and ".join(_addresses(serving.url)))
    for warning in _warnings(serving):
        _log.warning("%s", warning)
    for note in _notes(serving):
        _log.info("%s", note)


def _addresses(url: str) -> tuple[str, ...]:
    return (url,) if url.startswith(UNIX) else (f"{url}/", f"{url}/mcp")


def _claude_line(serving: Serving) -> str:
    return claude_code_command(Door(f"{serving.url}/mcp", bool(serving.loaded.config.server.tokens)))


def _program() -> str:
    """What to type to run us again: from a checkout `callgate` is not on the path."""
    # The other terminal may be in any folder.
    return "callgate" if shutil.which("callgate") else shlex.quote(str(Path(sys.argv[0]).absolute()))


def _warnings(serving: Serving) -> list[str]:
    warnings = [str(warning) for warning in serving.loaded.warnings]
    if serving.moved_from_port is not None:
        warnings.append(
            f"Port {serving.moved_from_port} is busy, so this is the next free one (--port fixes one)"
        )
    if serving.other is not None:
        warnings.append(
            f"A gateway (pid {serving.other.pid}, {serving.other.url}) already runs on this state folder: "
            "it keeps the record, and calls made here are in it too"
        )
    return warnings


def _notes(serving: Serving) -> list[str]:
    """What was ignored or derived. Of very many the first, and where all are told."""
    notes = [str(note) for note in serving.loaded.notes]
    more = len(notes) - _MAX_NOTES
    return [*notes[:_MAX_NOTES], f"and {more} more: callgate config check"] if more > 0 else notes


def _announce_json(serving: Serving) -> None:
    body = {
        "url": serving.url,
        "page": None if serving.url.startswith(UNIX) else f"{serving.url}/",
        "mcp": None if serving.url.startswith(UNIX) else f"{serving.url}/mcp",
        "config": serving.loaded.origin and str(serving.loaded.origin),
        "workers": serving.loaded.config.server.workers,
        "servers": [
            {"name": entry.name, "kind": entry.kind, "state": entry.state.value, "detail": entry.detail}
            for entry in serving.health
        ],
        "warnings": _warnings(serving),
        "notes": _notes(serving),
    }
    print_json_line(body)


def wants_page(asked: bool | None, is_bare: bool) -> bool:
    """`asked`: --open or --no-open, None for neither. Unasked only bare `callgate` opens it: a newcomer's."""
    if asked is not None:
        return asked
    return is_bare and sys.stdin.isatty() and sys.stderr.isatty() and has_screen(os.environ, sys.platform)


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    if any(environment.get(name) for name in _ELSEWHERE):
        return False
    return platform == "darwin" or any(environment.get(name) for name in _SCREENS)


def _open_page(url: str) -> None:
    """In a thread of its own: some browsers are waited for. That none could be started is no error."""
    import webbrowser  # not above: a gateway without a person at it does without

    threading.Thread(target=webbrowser.open, args=(url,), name="open page", daemon=True).start()
