"""`callgate token …`: who may call, each with a token of its own."""

import os
import secrets
import zlib
from base64 import urlsafe_b64encode
from datetime import UTC, date, datetime, time, timedelta
from typing import TYPE_CHECKING, Annotated, Any

import typer

from callgate.cli.options import ConfigOption, JsonOption
from callgate.cli.tables import TableColumn, print_table
from callgate.cli.terminal import print_json, print_line, say
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, CALLER_NOT_FOUND
from callgate.model.errors import CallerError
from callgate.model.identity import Role, token_hash_of
from callgate.model.near_miss import did_you_mean

if TYPE_CHECKING:
    from callgate.config.specs.config import Config

token_app = typer.Typer(help="Make, list and revoke tokens of clients.", no_args_is_help=True)
_PREFIX = "cg_"
_LIVE = "A gateway that runs with this file knows of it in a second."
_COLUMNS = (TableColumn("name"), TableColumn("role"), TableColumn("expires"), TableColumn("from"))


def new_token() -> str:
    """256 random bits, and a checksum by which a scanner of texts knows it for one of ours."""
    random = urlsafe_b64encode(secrets.token_bytes(32)).rstrip(b"=").decode()
    return f"{_PREFIX}{random}{zlib.crc32(random.encode()):08x}"


@token_app.command()
def add(
    name: Annotated[str, typer.Argument(help="Whose token it is, as the record will name them.")],
    role: Annotated[str, typer.Option(help="call, watch (reads the record too) or operate.")] = "call",
    expires: Annotated[str, typer.Option(help="A date, a time from now as in 90d, or never.")] = "90d",
    replace: Annotated[bool, typer.Option("--replace", help="In the place of the token it has.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Make a token. It is shown once; the file gets its hash only."""
    from callgate.app.setup.loading import problems_of
    from callgate.config.edit_file import edit_file

    if role.upper() not in Role.__members__:
        words = [one.word for one in Role]
        hint = did_you_mean(role, words) or f"There are: {', '.join(words)}"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"There is no role {role!r}", hint=hint)
    until = until_of(expires)
    edit = edit_file(config, os.environ)
    place = ("principals", name)
    if edit.has(place) and not replace:
        hint = "Name another, or give it a new token with --replace"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"There is a principal {name!r} already", hint=hint)
    token = new_token()
    entry: dict[str, Any] = {"token_hash": token_hash_of(token), "role": role.lower()}
    if until is not None:
        entry["expires"] = until
    edit.set(place, entry)
    edit.write(problems_of)
    if as_json:
        shown = until and until.isoformat()
        print_json({"name": name, "role": role, "expires": shown, "token": token, "file": str(edit.path)})
        return
    say(f"{name} ({role}), {f'until {until}' if until else 'without end'}. Its hash is in {edit.path}.")
    say(f"This is the token, and it is not shown again. {_LIVE}")
    print_line(token)


@token_app.command("list")
def list_tokens(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Show who has a token, with which role and until when."""
    from callgate.app.setup.loading import load_config
    from callgate.config.sources.flags import Flags

    entries = _entries(load_config(Flags(config=config)).config)
    if as_json:
        print_json({"tokens": entries})
        return
    if not entries:
        say("There are no tokens: whoever reaches this gateway on loopback is local, and may do everything.")
        return
    print_table(
        _COLUMNS, [(one["name"], one["role"], _last_day(one["expires"]), one["from"]) for one in entries]
    )


@token_app.command()
def revoke(
    name: Annotated[str, typer.Argument(help="Whose token it is.")], config: ConfigOption = None
) -> None:
    """Take a token away: its entry of [principals] is removed."""
    from callgate.app.setup.loading import load_config, problems_of
    from callgate.config.edit_file import edit_file
    from callgate.config.sources.flags import Flags

    edit = edit_file(config, os.environ)
    if not edit.has(("principals", name)):
        known = load_config(Flags(config=config)).config.principals
        hint = did_you_mean(name, known) or "callgate token list shows who has one"
        raise CallerError(CALLER_NOT_FOUND, f"There is no principal {name!r} in {edit.path}", hint=hint)
    edit.remove(("principals", name))
    edit.write(problems_of)
    say(f"{name} has no token any more. {_LIVE}")


def _entries(config: "Config") -> list[dict[str, Any]]:
    from callgate.app.principals import bearer_tokens

    now_s = datetime.now(UTC).timestamp()
    entries: list[dict[str, Any]] = []
    for token in bearer_tokens(config):
        name = token.principal.name
        spec = config.principals.get(name)
        own = spec if spec is not None and spec.has_token else None
        entries.append(
            {
                "name": name,
                "role": token.principal.role.word,
                "expires": own.expires.isoformat() if own is not None and own.expires is not None else None,
                "is_expired": token.expires_s is not None and token.expires_s <= now_s,
                "from": "[principals]" if own is not None else "[server] tokens",
            }
        )
    return entries


def _last_day(expires: str | None) -> str:
    """As a person writes it: a date counts whole."""
    if expires is None:
        return "never"
    ends = datetime.fromisoformat(expires)
    is_date = ends.utcoffset() == timedelta(0) and ends.time() == time(0)
    return (ends.date() - timedelta(days=1)).isoformat() if is_date else expires


def until_of(text: str) -> date | None:
    from callgate.config.specs.quantity import parse_duration_s

    if text == "never":
        return None
    today = datetime.now(UTC).date()
    try:
        seconds = parse_duration_s(text)
        until = today + timedelta(seconds=seconds) if seconds is not None else date.fromisoformat(text)
    except (ValueError, OverflowError):
        hint = "Write a date as in 2027-02-13, a time from now as in 90d, or never"
        raise CallerError(CALLER_BAD_ARGUMENTS, f"{text!r} is no date", hint=hint) from None
    if until < today:
        raise CallerError(CALLER_BAD_ARGUMENTS, f"{until} is over", hint="Name a day to come")
    return until
