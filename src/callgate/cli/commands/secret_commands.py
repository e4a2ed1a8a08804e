"""`callgate secret …`: values that the configuration only names. None is ever shown, or an argument."""

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, cast

import typer

from callgate.cli.options import ConfigOption, JsonOption, StateOption
from callgate.cli.tables import TableColumn, moment, print_table
from callgate.cli.terminal import print_json, say
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, CALLER_NOT_FOUND
from callgate.model.errors import CallerError, CallgateError
from callgate.model.near_miss import did_you_mean

if TYPE_CHECKING:
    from callgate.app.commands.tell_gateway import GatewayHere
    from callgate.config.sources.flags import Flags

secret_app = typer.Typer(help="Keep passwords and keys outside of the configuration.", no_args_is_help=True)
_COLUMNS = (TableColumn("name"), TableColumn("set"), TableColumn("state"))
_Name = Annotated[str, typer.Argument(help="What the configuration calls it: secret:NAME.")]


@secret_app.command("set")
def set_secret(name: _Name, config: ConfigOption = None, state_dir: StateOption = None) -> None:
    """Keep a value, sealed. It is asked for without echo, or read from stdin."""
    from callgate.app.commands.tell_gateway import GatewayHere
    from callgate.app.setup.keep_secrets import keep_secret
    from callgate.config.sources.flags import Flags

    flags = Flags(config=config, state_dir=state_dir)
    check_name(name)
    value = read_value(f"Value of {name}: ")
    gateway = GatewayHere(flags)
    keep_secret(flags, name, value)
    say(f"{name} is kept. Write secret:{name} where it belongs, or ${{secret:{name}}} inside of a dsn.")
    take_over(gateway)


@secret_app.command("list")
def list_secrets(
    config: ConfigOption = None, state_dir: StateOption = None, as_json: JsonOption = False
) -> None:
    """Show which secrets are kept, since when, and whether each can be read. No value is shown."""
    from callgate.app.setup.loading import secrets_at
    from callgate.config.sources.flags import Flags

    kept = secrets_at(Flags(config=config, state_dir=state_dir))[0].kept()
    if as_json:
        entries = [
            {"name": one.name, "changed_at": one.changed_at.isoformat(), "is_readable": one.is_readable}
            for one in kept
        ]
        print_json({"secrets": entries})
    elif not kept:
        say("There are no secrets. Keep one with: callgate secret set NAME")
    else:
        states = {True: "readable", False: "cannot be read: set it again"}
        rows = [(one.name, moment(one.changed_at.isoformat()), states[one.is_readable]) for one in kept]
        print_table(_COLUMNS, rows)


@secret_app.command("remove")
def remove_secret(name: _Name, config: ConfigOption = None, state_dir: StateOption = None) -> None:
    """Forget a value that the configuration does not name any more."""
    from callgate.app.commands.tell_gateway import GatewayHere
    from callgate.app.setup.loading import secrets_at
    from callgate.config.sources.flags import Flags

    flags = Flags(config=config, state_dir=state_dir)
    if (place := _named_in(flags, name)) is not None:
        hint = "Take it out of the file first: without the value, no gateway starts with it"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"{place} names the secret {name}", hint=hint)
    secrets, gateway = secrets_at(flags)[0], GatewayHere(flags)
    if not secrets.remove(name):
        hint = did_you_mean(name, [one.name for one in secrets.kept()]) or "callgate secret list shows them"
        raise CallerError(CALLER_NOT_FOUND, f"There is no secret {name[:64]!r}", hint=hint)
    say(f"{name} is forgotten.")
    take_over(gateway)


def _named_in(flags: "Flags", name: str) -> str | None:
    """The key of the file that needs the value. With a file that cannot be read, none."""
    from callgate.app.setup.loading import own_file
    from callgate.config.secret_source import SECRET

    try:
        tree = own_file(flags.config).tree
    except CallgateError:
        return None
    forms = (f"{SECRET}{name}", f"${{{SECRET}{name}}}")
    return next((".".join(path) for path, text in _texts(tree) if text == forms[0] or forms[1] in text), None)


def _texts(value: object, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key, member in cast("dict[str, object]", value).items():
            yield from _texts(member, (*path, key))
    elif isinstance(value, list):
        for at, member in enumerate(cast("list[object]", value)):
            yield from _texts(member, (*path[:-1], f"{path[-1]}[{at}]"))


def check_name(name: str) -> None:
    from callgate.config.secret_source import SECRET_NAME

    if not SECRET_NAME.fullmatch(name):
        hint = "Letters, digits, dots, dashes and underscores, at most 64, as in shop-password"
        raise CallerError(CALLER_BAD_ARGUMENTS, "This is not a name for a secret", hint=hint)


def read_value(prompt: str) -> str:
    """From a person without echo, or from a program. Raises CallerError."""
    from getpass import getpass

    from callgate.vault.secrets import MAX_SECRET_BYTES

    is_person = sys.stdin.isatty()
    raw = getpass(prompt).encode() if is_person else sys.stdin.buffer.read(MAX_SECRET_BYTES + 2)
    try:
        value = raw.decode().removesuffix("\n").removesuffix("\r")
    except UnicodeDecodeError:
        value = ""
    if not value or len(value.encode()) > MAX_SECRET_BYTES or "\0" in value:
        hint = f"It has at least one character and at most {MAX_SECRET_BYTES // 1024} KiB of UTF-8 text"
        raise CallerError(CALLER_BAD_ARGUMENTS, "This is not a value for a secret", hint=hint)
    return value


def take_over(gateway: "GatewayHere") -> bool:
    """Tells the running gateway, and the person what came of it. False: none runs."""
    import asyncio

    news = asyncio.run(gateway.take_over())
    if news is None:
        return False
    if news["problem"]:
        say(f"The running gateway does not take it over: {news['problem']}")
    elif news["needs_restart"]:
        say(f"The running gateway needs a new start for: {', '.join(news['needs_restart'])}")
    else:
        say("The running gateway has it.")
    return True


def take_over_or_start(gateway: "GatewayHere") -> None:
    """For somebody who may never have started one."""
    if not take_over(gateway):
        say("No gateway is running now. Start one with: callgate")
