"""`callgate config …`: what the configuration is, where it lies, and whether it is right."""

from typing import TYPE_CHECKING, Any

import typer

from callgate.cli.options import ConfigOption, JsonOption
from callgate.cli.terminal import print_json, print_line, print_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from callgate.config.load import ConfigProblem, Loaded
    from callgate.config.sources.flags import Flags

config_app = typer.Typer(help="Check, show and locate the configuration.", no_args_is_help=True)


def _load(config: ConfigOption) -> "Loaded":
    from callgate.app.setup.loading import load_config
    from callgate.config.sources.flags import Flags

    return load_config(Flags(config=config))


@config_app.command()
def check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Report all problems at once; exit 3 when there is one."""
    from callgate.app.setup_problems import load_and_check
    from callgate.config.problem import ConfigProblems
    from callgate.config.sources.flags import Flags

    try:
        loaded = load_and_check(Flags(config=config))
    except ConfigProblems as found:
        if not as_json:
            _print_notes(found.notes)
        raise
    warnings = [str(warning) for warning in loaded.warnings]
    if as_json:
        file = loaded.origin and str(loaded.origin)
        notes = [str(note) for note in loaded.notes]
        print_json({"ok": True, "file": file, "warnings": warnings, "notes": notes})
        return
    for warning in warnings:
        print_line(f"warning: {warning}")
    _print_notes(loaded.notes)
    print_line(f"{loaded.origin or 'No file, all defaults'}: ok")


def _print_notes(notes: "Sequence[ConfigProblem]") -> None:
    for note in notes:
        print_line(f"note: {note}")


@config_app.command()
def show(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print the effective configuration, every secret masked."""
    from callgate.config.show import masked

    loaded = _load(config)
    effective = masked(loaded.config)
    if as_json:
        print_json(effective)
        return
    import tomlkit

    for note in loaded.notes:
        print_line(f"# {note}")
    print_text(tomlkit.dumps(effective))


def run_reload(flags: "Flags", as_json: bool) -> None:
    """Raises SetupError when nothing runs, or when the file has problems."""
    import asyncio

    from callgate.app.commands.record_access import live_api
    from callgate.app.setup.loading import load_config
    from callgate.model.error_codes import SETUP_CONFIG
    from callgate.model.errors import told_by_another

    async def reload() -> dict[str, Any]:
        async with live_api(load_config(flags)) as api:
            return await api.post("reload", body={})

    news = asyncio.run(reload())
    if news["problem"] is not None and not as_json:
        hint = "callgate config check lists all problems"
        raise told_by_another(SETUP_CONFIG.code, news["problem"], hint)
    if as_json:
        print_json(news)
        return
    changed = ", ".join(news["changed"]) if news["version"] else ""
    print_line(f"Taken over: {changed}" if changed else "Nothing has changed")
    if news["needs_restart"]:
        print_line(f"These need a new start: {', '.join(news['needs_restart'])}")


@config_app.command()
def schema() -> None:
    """Print the JSON Schema of callgate.toml."""
    from callgate.config.show import config_json_schema

    print_json(config_json_schema())


@config_app.command()
def path(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Print where the configuration, the state folder and the record are."""
    from callgate.config.paths import record_folder, state_folder

    loaded = _load(config)
    places = {
        "config": str(loaded.origin) if loaded.origin else None,
        "state": str(state_folder(loaded.config)),
        "record": str(record_folder(loaded.config)),
    }
    if as_json:
        print_json(places)
        return
    for name, place in places.items():
        print_line(f"{name:8}{place or '(none: all defaults)'}")
