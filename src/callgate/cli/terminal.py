"""Where words go: answers to stdout, everything said to the person to stderr; and the third error mapping."""

import json
import sys
from enum import IntEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

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


def stderr() -> "Console":
    from rich.console import Console

    return Console(stderr=True, highlight=False, soft_wrap=True)


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
    console.print(message, markup=False)
    if hint:
        console.print(f"  {hint}", markup=False)
    if code:
        console.print(f"  ({code})", style="dim", markup=False)


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")


def print_text(text: str) -> None:
    sys.stdout.write(text if text.endswith("\n") else text + "\n")
