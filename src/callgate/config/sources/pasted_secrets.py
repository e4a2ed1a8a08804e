"""Which texts of a pasted entry look like secrets, and where in them the secret itself is. Pure."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from callgate.config.problem import Loc
from callgate.config.raw_values import list_of, table_of
from callgate.config.secret import MASK, is_secret_name, mask_args, mask_named

# What says where a value is, instead of what it is.
_REFERENCE = re.compile(r"^(?:file|secret|exec|keyring):|\$\{|\{env:|^\$[A-Z_]")
_SCHEME = re.compile(r"(?:bearer|basic|digest|token)\s+", re.IGNORECASE)
_PASSWORD = re.compile(
    r"(?P<before>[A-Za-z][\w+.-]*://[^/?#@:]*:)(?P<value>[^@]+)(?P<after>@[^@]*)", re.DOTALL
)
_PARAM = re.compile(r"[?&](?P<name>[\w.-]+)=(?P<value>[^&#]+)")
_NOT_IN_NAME = re.compile(r"[^a-z0-9]+")
# Words in an option's or header's name that say nothing beside "secret".
_MAX_NAME_CHARS = 60


@dataclass(frozen=True, slots=True)
class PastedSecret:
    """The text at `loc` of an entry is `before`, the secret, `after`."""

    loc: Loc
    name: str  # under which it could be kept: `github-token`
    value: str = field(repr=False)  # itself, without the escapes of an address
    before: str = field(default="", repr=False)
    after: str = field(default="", repr=False)


def secrets_in(kind: str, name: str, entry: dict[str, Any]) -> Iterator[PastedSecret]:
    """`name`: the entry's own."""
    if kind == "source":
        if isinstance(entry.get("dsn"), str):
            yield from _in_address(("dsn",), name, entry["dsn"])
        return
    for table in ("env", "headers"):
        for key, text in table_of(entry.get(table)).items():
            if isinstance(text, str) and not _REFERENCE.search(text) and mask_named(key, text) == MASK:
                scheme = _SCHEME.match(text)
                before = scheme[0] if scheme is not None else ""
                yield PastedSecret((table, key), _named(name, key), text[len(before) :], before)
    if isinstance(entry.get("url"), str):
        yield from _in_address(("url",), name, entry["url"])
    args = [str(arg) for arg in list_of(entry.get("args"))]
    for at, (arg, shown) in enumerate(zip(args, mask_args(args), strict=True)):
        before, found, after = shown.partition(MASK)
        is_one = found and MASK not in after and arg.startswith(before) and arg.endswith(after)
        if is_one and not _REFERENCE.search(arg):
            option = before.strip("-=: ") or (args[at - 1].strip("-") if at else "") or str(at)
            secret = arg[len(before) : len(arg) - len(after)]
            yield PastedSecret(("args", at), _named(name, option), secret, before, after)


def _in_address(loc: Loc, name: str, text: str) -> Iterator[PastedSecret]:
    """A password before the host, else the first parameter that is called like a secret."""
    if (found := _PASSWORD.fullmatch(text)) is not None and not _REFERENCE.search(found["value"]):
        value = unquote(found["value"])
        yield PastedSecret(loc, _named(name, "password"), value, found["before"], found["after"])
        return
    for one in _PARAM.finditer(text):
        if is_secret_name(one["name"]) and not _REFERENCE.search(one["value"]):
            before, after = text[: one.start("value")], text[one.end("value") :]
            yield PastedSecret(loc, _named(name, one["name"]), unquote(one["value"]), before, after)
            return


def _named(entry: str, key: str) -> str:
    """`github` and `GITHUB_PERSONAL_ACCESS_TOKEN`: github-personal-access-token."""
    plain = _NOT_IN_NAME.sub("-", key.lower()).strip("-")
    whole = plain if plain.startswith(_NOT_IN_NAME.sub("-", entry.lower())) else f"{entry.lower()}-{plain}"
    return whole[:_MAX_NAME_CHARS].strip("-")
