"""`callgate backup FILE` and `callgate restore FILE`."""

import os
from pathlib import Path
from typing import Annotated

import typer

from callgate.cli.log import log_to_stderr
from callgate.cli.options import ConfigOption, StateOption
from callgate.cli.terminal import ProgressLine, print_line, say

ArchiveArgument = Annotated[
    Path, typer.Argument(metavar="FILE", help="The archive, such as callgate.tar.gz.")
]


def backup(file: ArchiveArgument, config: ConfigOption = None, state_dir: StateOption = None) -> None:
    """Write configuration, state and record into one archive, while the gateway runs."""
    from callgate.app.commands.backup import back_up
    from callgate.app.loop import run_loop
    from callgate.app.setup.loading import load_config
    from callgate.cli.private_file import private_file
    from callgate.config.sources.flags import Flags

    log_to_stderr()
    line = ProgressLine()
    try:
        with private_file(file) as out:
            manifest = run_loop(back_up(load_config(Flags(config, state_dir=state_dir)), out, line.show))
    finally:
        line.clear()
    size_mib = sum(entry.size_bytes for entry in manifest.entries.values()) / 1024 / 1024
    print_line(f"{file}: {len(manifest.entries)} files, {size_mib:.1f} MiB, {manifest.made_at}")
    for sentence in manifest.left_out:
        say(sentence)


def restore(
    file: ArchiveArgument,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    overwrites: Annotated[
        bool, typer.Option("--overwrite", help="Replace what is there; it is kept under another name.")
    ] = False,
) -> None:
    """Restore a backup: the state folder, and the configuration as ./callgate.toml or --config FILE."""
    from platformdirs import user_state_path

    from callgate.app.commands.backup import restore as restore_backup

    log_to_stderr()
    named = os.environ.get("CALLGATE_STATE_DIR")
    state = state_dir or (Path(named) if named else user_state_path("callgate"))
    line = ProgressLine()
    try:
        moved = restore_backup(
            file,
            state.absolute(),
            (config or Path("callgate.toml")).absolute(),
            overwrites=overwrites,
            tell=line.show,
        )
    finally:
        line.clear()
    print_line(f"restored into {state}")
    for path in moved:
        print_line(f"what was there before: {path}")


def add_backup_commands(app: typer.Typer) -> None:
    app.command()(backup)
    app.command()(restore)
