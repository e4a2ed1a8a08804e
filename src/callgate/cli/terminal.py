"""Where words go: answers to stdout, everything said to the person to stderr; and the third error mapping.

Everything goes through `guard_output`, which puts `model.terminal_text` before both streams: nothing that
anybody writes to them (a command, logging, a traceback) can act on the terminal. Colours come from
`safe_console`, which makes the text safe and leaves the colours.
"""

import io
import json
import shutil
import sys
from collections.abc import Callable
from enum import IntEnum
from typing import IO, TYPE_CHECKING, Any, cast

from callgate.model.terminal_text import one_safe_line, safe_for_terminal

if TYPE_CHECKING:
    from callgate.cli.safe_console import SafeConsole
    from callgate.model.errors import CallgateError


class Exit(IntEnum):
    """Documented and stable: scripts rely on them (docs/command-line.md)."""

    OK = 0
    ERROR = 1
    USAGE = 2
    CONFIG = 3
    PORT = 4
    UNREACHABLE = 5
    REFUSED = 6
    PARTIAL = 7
    INTERRUPTED = 130


def guard_output() -> None:
    """Before anything is written. Not only on a terminal: what is piped ends up on one often enough."""
    sys.stdout = _guarded(sys.stdout)
    sys.stderr = _guarded(sys.stderr)


def _guarded(stream: Any) -> Any:
    """Not of a stream that was closed before we started (None), or that somebody put in place of Python's."""
    return _GuardedOutput(stream) if type(stream) is io.TextIOWrapper else stream


class _GuardedOutput(io.TextIOWrapper):
    def __init__(self, stream: io.TextIOWrapper) -> None:
        super().__init__(
            cast("IO[bytes]", stream.buffer),
            encoding=stream.encoding,
            errors="backslashreplace",  # a locale without ✓ is no reason to fail
            line_buffering=stream.line_buffering,
            write_through=stream.write_through,
        )

    def write(self, s: str, /) -> int:
        super().write(safe_for_terminal(s))
        return len(s)

    def write_unguarded(self, text: str) -> int:
        return super().write(text)

    @property
    def rich_proxied_file(self) -> "_Unguarded":
        """rich looks for it, and writes its colours there."""
        return _Unguarded(self)


class _Unguarded:
    def __init__(self, output: _GuardedOutput) -> None:
        self._output = output
        self.write = output.write_unguarded

    def __getattr__(self, name: str) -> Any:
        return getattr(self._output, name)


def stderr() -> "SafeConsole":
    from callgate.cli.safe_console import SafeConsole

    return SafeConsole(stderr=True, highlight=False, soft_wrap=True)


def stdout() -> "SafeConsole":
    from callgate.cli.safe_console import SafeConsole

    return SafeConsole(highlight=False)


def run_program(run: Callable[[], int | None]) -> None:
    """The program. Errors of ours end here, each with its exit code; bugs keep their traceback."""
    from callgate.model.errors import CallgateError

    guard_output()
    try:
        sys.exit(run())
    except CallgateError as error:
        report(error, is_json_asked())
        sys.exit(exit_code_of(error))
    except OSError as problem:  # the machine's word: a folder that is a file, a closed stdout, a full disk
        where = f": {problem.filename}" if problem.filename else ""
        say_error(f"{problem.strerror or problem}{where}", "", None)
        sys.exit(Exit.ERROR)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)


def is_json_asked() -> bool:
    return "--json" in sys.argv[1:]


def exit_code_of(error: "CallgateError") -> int:
    """The third of the three mappings: an error of ours as the program's exit code."""
    return error.code.exit_code


def report(error: "CallgateError", as_json: bool) -> None:
    """Say what went wrong and what to do, in words or for a program."""
    if as_json:
        body: dict[str, Any] = {"code": error.code.code, "message": error.message}
        if error.hint:
            body["hint"] = error.hint
        print_json({"error": body})
        return
    say_error(error.message, error.hint, error.code.code)


def say_error(message: str, hint: str, code: str | None) -> None:
    console = stderr()
    console.print("[bold red]Error:[/]", end=" ")
    console.print(indented(message), markup=False)
    if hint:
        console.print(f"  {indented(hint)}", markup=False)
    if code:
        console.print(f"  ({one_safe_line(code)})", style="dim", markup=False)


def indented(text: str) -> str:
    """A message of several lines, none of which can look like the beginning of another message."""
    return "\n".join(line if line.startswith("  ") else f"  {line}" for line in text.splitlines())[2:]


def say(text: str) -> None:
    """To the person, beside the answer."""
    stderr().print(one_safe_line(text), markup=False, highlight=False)


def confirmed(question: str, *, is_sure: bool) -> bool:
    """`is_sure`: said on the command line. A program is not asked: it says so there. Raises CallerError."""
    if is_sure:
        return True
    if sys.stdin is None or not sys.stdin.isatty():
        from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
        from callgate.model.errors import CallerError

        hint = "Add --yes to do it, or --dry-run to look only"
        raise CallerError(CALLER_BAD_ARGUMENTS, "There is nobody to ask whether to write it", hint=hint)
    stderr().print(f"{question} [y/N] ", end="", markup=False, highlight=False)
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_json_line(value: Any) -> None:
    """One line, at once: a program waits for it."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def print_text(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")


def print_line(text: str) -> None:
    """A line of ours with words of strangers in it."""
    print_text(one_safe_line(text))


class ProgressLine:
    """One line on stderr that is written over, and taken away at the end; nothing where nobody watches."""

    def __init__(self) -> None:
        self._is_shown = False

    def show(self, text: str) -> None:
        if sys.stderr.isatty():
            room = shutil.get_terminal_size().columns - 1  # a full line would begin a new one
            self._write(one_safe_line(text)[:room])
            self._is_shown = True

    def clear(self) -> None:
        if self._is_shown:
            self._write("")
            self._is_shown = False

    def _write(self, text: str) -> None:
        stream = getattr(sys.stderr, "rich_proxied_file", sys.stderr)
        stream.write(f"\r{text}\x1b[K")
        stream.flush()
