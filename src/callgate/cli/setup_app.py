"""The commands that change what is behind the gateway and who uses it: add, remove, import, connect."""

from typing import Annotated

import typer

from callgate.cli.options import ConfigOption, JsonOption, StateOption


def add_to(app: typer.Typer) -> None:
    app.command()(add)
    app.command()(remove)
    app.command("import")(import_servers)
    app.command()(connect)


def add(
    what: Annotated[
        list[str],
        typer.Argument(
            help="A database's address or file, a URL, a client's entry, - for stdin; -- COMMAND ARGS."
        ),
    ],
    name: Annotated[str | None, typer.Option("--name", help="What it is called here.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Try it, and write nothing.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    anyway: Annotated[bool, typer.Option("--anyway", help="Also if it cannot be reached now.")] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Try a database or MCP server, show what it is, and add it to the file and the running gateway."""
    from callgate.cli.commands.add_command import AddOptions, run_add
    from callgate.config.sources.flags import Flags

    options = AddOptions(name, dry_run, yes, anyway, as_json)
    run_add(Flags(config=config, state_dir=state_dir), what, options)


def remove(
    name: Annotated[str, typer.Argument(help="The database or server.")],
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Remove a database or server from the file and the running gateway."""
    from callgate.cli.commands.add_command import run_remove
    from callgate.config.sources.flags import Flags

    run_remove(Flags(config=config, state_dir=state_dir), name, as_json=as_json)


def import_servers(
    chosen: Annotated[
        str | None, typer.Option("--from", metavar="CLIENTS", help="Only of these, as cursor,claude-code.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be taken over.")] = False,
    secrets: Annotated[
        bool, typer.Option("--secrets", help="Keep their secrets sealed, not in the file.")
    ] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take over the MCP servers of other clients on this machine."""
    from callgate.cli.commands.import_command import run_import
    from callgate.config.sources.flags import Flags

    flags = Flags(config=config, state_dir=state_dir)
    run_import(flags, chosen, is_dry=dry_run, moves=secrets, as_json=as_json)


def connect(
    client: Annotated[str, typer.Argument(help="The client: cursor, claude-code, claude-desktop, vscode, …")],
    undo: Annotated[bool, typer.Option("--undo", help="Give back the file as it was, and revoke.")] = False,
    project: Annotated[bool, typer.Option("--project", help="The client's file of this folder.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show what would be written.")] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Write without asking.")] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Connect an MCP client to this gateway, with a token of its own."""
    from callgate.cli.commands.connect_command import ConnectOptions, run_connect, run_undo
    from callgate.config.sources.flags import Flags

    options = ConnectOptions(project, dry_run, yes, as_json)
    (run_undo if undo else run_connect)(Flags(config=config, state_dir=state_dir), client, options)
