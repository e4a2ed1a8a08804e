"""`callgate config …`: what the configuration is, where it lies, and whether it is right."""

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callgate.cli.options import ConfigOption, JsonOption
from callgate.cli.terminal import print_json, print_line, print_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from callgate.config.edit_file import FileEdit
    from callgate.config.load import ConfigProblem, Loaded
    from callgate.config.problem import Loc
    from callgate.config.sources.flags import Flags

config_app = typer.Typer(help="Check, show, change and locate the configuration.", no_args_is_help=True)


def _load(config: ConfigOption) -> "Loaded":
    from callgate.app.setup.loading import load_config
    from callgate.config.sources.flags import Flags

    return load_config(Flags(config=config))


@config_app.command()
def check(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Report all problems at once; exit 3 when there is one."""
    from callgate.app.setup.setup_problems import load_and_check
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


@config_app.command("get")
def get_value(
    key: Annotated[str, typer.Argument(help="A key path: record.keep, sources.shop.max_rows.")],
    config: ConfigOption = None,
) -> None:
    """Print one effective value, secrets masked."""
    import tomlkit

    from callgate.config.editing.toml_text import TomlText
    from callgate.config.editing.written_values import read_key_path
    from callgate.config.show import masked
    from callgate.model.error_codes import CALLER_NOT_FOUND
    from callgate.model.errors import CallerError

    values = TomlText(tomlkit.dumps(masked(_load(config).config)))
    loc = read_key_path(key)
    if not values.has(loc):
        raise CallerError(CALLER_NOT_FOUND, f"There is no {key[:200]}", hint="callgate config show has all")
    found: Any = values.tree
    for part in values.placed(loc):
        found = found[part]
    print_line(found if isinstance(found, str) else json.dumps(found, ensure_ascii=False))


@config_app.command("set")
def set_value(
    key: Annotated[str, typer.Argument(help="A key path: record.keep, sources.shop.max_rows.")],
    value: Annotated[str, typer.Argument(help="JSON (true, 5, [1]), or else a text.")],
    config: ConfigOption = None,
) -> None:
    """Change one value of the file. A running gateway takes it over."""
    try:
        read: Any = json.loads(value)
    except ValueError:
        read = value
    _change(config, lambda edit, loc: edit.set(loc, read), key)


@config_app.command("unset")
def unset_value(
    key: Annotated[str, typer.Argument(help="A key path: record.keep, sources.shop.")],
    config: ConfigOption = None,
) -> None:
    """Take one value, or a whole table, out of the file."""
    _change(config, lambda edit, loc: edit.remove(loc), key)


def _change(config: ConfigOption, change: "Callable[[FileEdit, Loc], None]", key: str) -> None:
    import os

    from callgate.app.setup.setup_problems import problems_in
    from callgate.config.edit_file import edit_file
    from callgate.config.editing.masked_lines import changed_lines
    from callgate.config.editing.written_values import read_key_path
    from callgate.config.sources.flags import Flags

    edit = edit_file(config, os.environ)
    before = edit.text
    change(edit, read_key_path(key))
    edit.write(lambda file: problems_in(Flags(config=config), file))
    for line in changed_lines(before, edit.text) or ["Nothing has changed"]:
        print_line(line)
