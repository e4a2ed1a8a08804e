"""`callgate record …`: what is done by hand to the record as a whole."""

from typing import Annotated

import typer

from callgate.cli.options import ConfigOption, JsonOption, StateOption
from callgate.cli.terminal import print_json, print_line

store_app = typer.Typer(help="Look after the record: tables, place and archive.", no_args_is_help=True)


@store_app.command()
def migrate(
    grant: Annotated[
        list[str] | None,
        typer.Option("--grant", help="Let this role of the database read and write the record."),
    ] = None,
    days: Annotated[
        int, typer.Option("--days", min=1, max=366, help="For how many days ahead to make partitions.")
    ] = 31,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make or change the record's tables, make partitions ahead, and drop days that are overdue."""
    from callgate.app.commands.record_days import migrate_record
    from callgate.app.loop import run_loop
    from callgate.app.setup.setup_problems import load_and_check
    from callgate.config.sources.flags import Flags

    loaded = load_and_check(Flags(config=config))
    done = run_loop(migrate_record(loaded.config, days, grant or []))
    if as_json:
        print_json(
            {
                "version": done.version,
                "steps": done.steps,
                "partitions_until": done.partitions_until.isoformat(),
                "dropped_days": done.dropped_days,
            }
        )
        return
    changed = f"{done.steps} changes made" if done.steps else "nothing to change"
    print_line(f"Tables of version {done.version}: {changed}")
    print_line(f"Partitions until {done.partitions_until}; {done.dropped_days} days dropped")


@store_app.command()
def copy(
    go_to: Annotated[str, typer.Option("--to", help="duckdb:FOLDER, or postgres://user@host/database.")],
    come_from: Annotated[
        str | None, typer.Option("--from", help="The same; the configured store if not given.")
    ] = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Copy the record to another store. May be stopped, and run again for the rest."""
    from callgate.cli.commands.record_store_commands import run_copy
    from callgate.config.sources.flags import Flags

    run_copy(Flags(config=config, state_dir=state_dir), come_from, go_to, as_json)


@store_app.command()
def archive(
    go_to: Annotated[
        str | None, typer.Option("--to", help="s3://bucket/prefix or a folder; else [record] archive.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Only read the archive back, and compare every file's hash.")
    ] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Archive closed days of the record as Parquet files."""
    from callgate.cli.commands.record_store_commands import run_archive, run_archive_check
    from callgate.config.sources.flags import Flags

    run = run_archive_check if check else run_archive
    run(Flags(config=config, state_dir=state_dir), go_to, as_json)
