"""What typer reads and shows, put right: wrong usage is an error of ours like any other, and the help names
the type of what takes a value only."""

from collections.abc import Iterator
from typing import Any

import typer

from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError


def command_of(app: typer.Typer) -> Any:
    """The whole program, as typer runs it."""
    program = typer.main.get_command(app)
    for context in _contexts(program):
        for option in context.command.get_params(context):
            if getattr(option, "is_flag", False):
                option.metavar = ""  # else: <bool>, as if `--json true` could be written
    return program


def _contexts(command: Any, parent: typer.Context | None = None) -> Iterator[typer.Context]:
    context = typer.Context(command, parent=parent, **command.context_settings)
    yield context
    for below in getattr(command, "commands", {}).values():
        yield from _contexts(below, context)


def usage_error(problem: typer.TyperException) -> CallerError | None:
    """None: the help was shown in its place, since nothing was asked.

    typer's own panel would show what was typed as it is, escape sequences too.
    """
    context = getattr(problem, "ctx", None)
    message = problem.format_message()
    if not message:
        return None
    hint = f"See: {context.command_path} --help" if context is not None else ""
    return CallerError(CALLER_BAD_ARGUMENTS, message, hint=hint)
