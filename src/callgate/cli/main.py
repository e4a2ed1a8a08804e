"""`callgate`: the commands. Bare `callgate` serves."""

import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import callgate
from callgate.cli import ask_app, record_app, setup_app
from callgate.cli.commands.backup_commands import add_backup_commands
from callgate.cli.commands.config_commands import config_app
from callgate.cli.commands.secret_commands import secret_app
from callgate.cli.commands.token_commands import token_app
from callgate.cli.commands.trust_commands import trust_app
from callgate.cli.log import LogFormat
from callgate.cli.options import (
    AddressesArgument,
    ConfigOption,
    JsonOption,
    LogFormatOption,
    ServeOptions,
    StateOption,
    StdioLogLevelOption,
    grouped,
)
from callgate.cli.service_app import service_app
from callgate.cli.store_app import store_app
from callgate.cli.terminal import Exit, is_json_asked, report, run_program
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError


class _Program(TyperGroup):
    """The commands. A database in the place of one is served: `callgate shop.db`."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        from callgate.config.sources.addresses import looks_like_address

        if args and args[0] not in self.commands and looks_like_address(args[0]):
            return "serve", self.commands["serve"], args
        return super().resolve_command(ctx, args)


app = typer.Typer(
    name="callgate",
    cls=_Program,
    help="One MCP endpoint in front of your databases and MCP servers.",
    no_args_is_help=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,  # a traceback with local variables could show a password
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.add_typer(config_app, name="config")
app.add_typer(store_app, name="record")
app.add_typer(service_app, name="service")
app.add_typer(token_app, name="token")
app.add_typer(secret_app, name="secret")
app.add_typer(trust_app, name="trust")
add_backup_commands(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        sys.stdout.write(f"callgate {callgate.__version__}\n")
        raise typer.Exit


@app.callback(invoke_without_command=True)
@grouped
def bare(
    context: typer.Context,
    options: ServeOptions,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """One MCP endpoint in front of your databases and MCP servers. Without a command: serve."""
    if context.invoked_subcommand is None:
        _serve(options, (), is_bare=True)
    elif options != ServeOptions():
        raise typer.BadParameter(f"Options go after the command: callgate {context.invoked_subcommand} --…")


@app.command()
@grouped
def serve(options: ServeOptions, addresses: AddressesArgument = None) -> None:
    """Serve MCP over HTTP, and the web page (the default command)."""
    _serve(options, tuple(addresses or ()), is_bare=False)


def _serve(options: ServeOptions, addresses: tuple[str, ...], is_bare: bool) -> None:
    from callgate.cli.commands.serve_command import ServeOrder, run_serve

    given = {field.name: getattr(options, field.name) for field in fields(options)}
    run_serve(ServeOrder(**given, addresses=addresses, is_bare=is_bare))


@app.command()
def reload(config: ConfigOption = None, state_dir: StateOption = None, as_json: JsonOption = False) -> None:
    """Have the running gateway read its configuration again, and take over what can be."""
    from callgate.cli.commands.config_commands import run_reload
    from callgate.config.sources.flags import Flags

    run_reload(Flags(config=config, state_dir=state_dir), as_json)


@app.command()
def stdio(
    addresses: AddressesArgument = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    log_level: StdioLogLevelOption = None,
    log_format: LogFormatOption = LogFormat.TEXT,
) -> None:
    """Serve MCP over stdin and stdout, for clients that start their servers."""
    from callgate.cli.commands.stdio_command import StdioOrder, run_stdio

    run_stdio(StdioOrder(config, state_dir, log_level, log_format, tuple(addresses or ())))


ask_app.add_to(app)


@app.command()
def guard(
    sql: Annotated[str | None, typer.Argument(help="The statement; - reads it from stdin.")] = None,
    dialect: Annotated[
        str | None, typer.Option("--dialect", "-d", help="mysql, mariadb, postgres, sqlite or duckdb.")
    ] = None,
    mode: Annotated[str, typer.Option("--mode", help="read_only or write.")] = "read_only",
    require_qualified: Annotated[
        bool, typer.Option("--require-qualified", help="Also refuse table names without their database.")
    ] = False,
    allow_ddl: Annotated[bool, typer.Option("--allow-ddl", help="As allow_ddl of a source.")] = False,
    allow_function: Annotated[
        list[str] | None, typer.Option("--allow-function", help="As allow_functions of a source; repeatable.")
    ] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="Judge lines of stdin: {id, dialect, sql, mode}, one answer each.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Say whether a statement would be allowed, and why. Nothing is run."""
    from callgate.cli.commands.guard_command import GuardOptions, run_guard, run_guard_lines

    options = GuardOptions(dialect, mode, require_qualified, allow_ddl, tuple(allow_function or ()))
    if jsonl:
        run_guard_lines(options)
    else:
        run_guard(sql, options, as_json)


@app.command()
def init() -> None:
    """Write a first callgate.toml into this folder, with comments."""
    from callgate.cli.commands.init_command import run_init

    run_init(Path.cwd())


@app.command()
def doctor(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Check the configuration, every source and every server, and say what to do."""
    from callgate.cli.commands.doctor_command import run_doctor
    from callgate.config.sources.flags import Flags

    run_doctor(Flags(config=config), as_json)


record_app.add_to(app)
setup_app.add_to(app)


def main() -> None:
    run_program(_run)


def _run() -> int | None:
    """What typer.Exit said."""
    try:
        return command_of(app)(standalone_mode=False)
    except typer.TyperException as problem:
        if (error := _usage_error(problem)) is not None:
            report(error, is_json_asked())
        return Exit.USAGE


def command_of(app: typer.Typer) -> Any:
    """The whole program, as typer runs it. Its help names a type only where a value is taken."""
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


def _usage_error(problem: typer.TyperException) -> CallerError | None:
    """Wrong usage as an error of ours. None: nothing was asked, and the help was shown.

    typer's own panel would show what was typed as it is, escape sequences too.
    """
    context = getattr(problem, "ctx", None)
    message = problem.format_message()
    if not message:
        return None
    hint = f"See: {context.command_path} --help" if context is not None else ""
    return CallerError(CALLER_BAD_ARGUMENTS, message, hint=hint)
