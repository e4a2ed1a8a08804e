"""The commands that ask a gateway for its tools and how it is, as typer reads them; what they do is imported
when one is run."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from callgate.cli.options import ConfigOption, JsonOption, StateOption
from callgate.config.sources.flags import Flags


def add_to(app: typer.Typer) -> None:
    app.command(add_help_option=False)(call)
    for command in (tools, servers, status):
        app.command()(command)


def call(
    context: typer.Context,
    tool: Annotated[str, typer.Argument(help="The tool, as <server>__<tool>.")] = "",
    arguments: Annotated[
        list[str] | None,
        typer.Argument(
            help="Arguments as key=value (text by the tool's schema) or key:=JSON; the only text may be bare."
        ),
    ] = None,
    wants_help: Annotated[
        bool, typer.Option("--help", "-h", help="Show this; with a tool: what the tool does and takes.")
    ] = False,
    save_to: Annotated[
        Path | None,
        typer.Option("--save", help="Write the image, sound or file of the answer here; several: a folder."),
    ] = None,
    upstream: Annotated[
        str | None,
        typer.Option("--upstream", help="Call this server directly: a command line, or a URL."),
    ] = None,
    timeout_s: Annotated[float, typer.Option("--timeout", min=0.1, help="Seconds to wait.")] = 300.0,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Call one tool, through the running gateway, or directly when none runs."""
    from callgate.cli.commands.call_command import Through, run_call, show_tool

    if not tool and not wants_help:
        raise typer.BadParameter("Name the tool: callgate tools lists them")
    if not tool:
        sys.stdout.write(f"{context.get_help()}\n")
        raise typer.Exit
    through = Through(Flags(config=config, state_dir=state_dir), upstream, timeout_s)
    if wants_help:
        show_tool(tool, through, as_json)
    else:
        run_call(tool, arguments or [], through, as_json, save_to)


def tools(
    words: Annotated[
        list[str] | None,
        typer.Argument(help="Only the tools that fit these words, the best first; a tool's name: all of it."),
    ] = None,
    server: Annotated[str | None, typer.Option("--server", help="Of this server or source only.")] = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the tools on offer and what each costs in a context, the most expensive first."""
    from callgate.cli.commands.tools_command import run_tools

    run_tools(Flags(config=config, state_dir=state_dir), " ".join(words or ()), server, as_json)


def servers(config: ConfigOption = None, state_dir: StateOption = None, as_json: JsonOption = False) -> None:
    """List the databases and servers: their state, why one is down, and what was called of late."""
    from callgate.cli.commands.status_command import run_servers

    run_servers(Flags(config=config, state_dir=state_dir), as_json)


def status(config: ConfigOption = None, state_dir: StateOption = None, as_json: JsonOption = False) -> None:
    """Say whether a gateway runs here, since when, and how it is; exit 5 when none runs."""
    from callgate.cli.commands.status_command import run_status

    run_status(Flags(config=config, state_dir=state_dir), as_json)
