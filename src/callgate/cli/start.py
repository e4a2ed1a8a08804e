"""Where the program begins. `serve` and `stdio` with plain options are read here, the rest by `cli.main`.

typer and what it imports to read options take 12 MB and 0.2 s, and a gateway would keep that for as long as
it runs. Must not read anything in another way than `cli.main` does: what is not certain (help, a mistake, a
database to serve) is left to it, and a test compares the two.
"""

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from callgate.cli.log import LogFormat, LogLevel
from callgate.cli.terminal import run_program

_COMPLETION = "_CALLGATE_COMPLETE"  # set where a shell asks what could be written
_PORTS = range(65536)


def _port(text: str) -> int:
    return _PORTS.index(int(text.encode("ascii")))


_WITH_VALUE: Mapping[str, tuple[str, Callable[[str], Any]]] = {
    "--config": ("config", Path),
    "-c": ("config", Path),
    "--host": ("host", str),
    "--port": ("port", _port),
    "-p": ("port", _port),
    "--state-dir": ("state_dir", Path),
    "--workers": ("workers", str),
    "--log-level": ("log_level", LogLevel),
    "--log-format": ("log_format", LogFormat),
}
_SWITCHES: Mapping[str, tuple[str, bool]] = {
    "--json": ("as_json", True),
    "--open": ("opens", True),
    "--no-open": ("opens", False),
    "--quiet": ("quiet", True),
    "-q": ("quiet", True),
}
_OF_STDIO = frozenset({"config", "state_dir", "log_level", "log_format"})


def main() -> None:
    command, *args = sys.argv[1:] or [""]
    options = plain_options(command, args) if _COMPLETION not in os.environ else None
    if options is None:
        from callgate.cli.main import main as any_command

        any_command()
    elif command == "serve":
        run_program(lambda: _serve(options))
    else:
        run_program(lambda: _stdio(options))


def plain_options(command: str, args: Sequence[str]) -> dict[str, Any] | None:
    """What was given, by the names that `cli.options` has for it. None: `cli.main` has to look."""
    if command not in ("serve", "stdio"):
        return None
    given: dict[str, Any] = {}
    rest = iter(args)
    for arg in rest:
        found = _SWITCHES.get(arg) or _with_value(arg, rest)
        if found is None or found[0] in given or (command == "stdio" and found[0] not in _OF_STDIO):
            return None
        given[found[0]] = found[1]
    return given


def _with_value(arg: str, rest: Iterator[str]) -> tuple[str, Any] | None:
    option, equals, text = arg.partition("=")
    if option not in _WITH_VALUE or (equals and not option.startswith("--")):
        return None
    text = text if equals else next(rest, "")
    if not text or text.startswith("-") or not text.isprintable():
        return None
    name, read = _WITH_VALUE[option]
    try:
        return name, read(text)
    except ValueError:
        return None


def _serve(options: Mapping[str, Any]) -> None:
    from callgate.cli.commands.serve_command import ServeOrder, run_serve

    run_serve(ServeOrder(**options))


def _stdio(options: Mapping[str, Any]) -> None:
    from callgate.cli.commands.stdio_command import StdioOrder, run_stdio

    run_stdio(StdioOrder(**options))
