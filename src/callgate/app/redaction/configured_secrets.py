"""The values of a configuration that are secrets, as far as they can be told from honest words. Pure.

1. *Kept as a secret*: what `secret:`, `exec:` and `file:` filled in, passwords, tokens, and what a variable,
   a header or a key with a secret's name holds. It counts from 4 characters on, unless it is a common word, a
   small number, or a name that the configuration itself uses.
2. *Anything else that was filled in*, and other values of `env`, `headers` and the query of a `url`: it
   counts if it looks made up. `true`, `3306`, a host, a path or `eu-central-1` does not.
3. A part of a longer text (a password in an address, a header among arguments) is found as the record's own
   redaction finds it.
"""

import binascii
import re
from base64 import b64decode
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import Any, cast
from urllib.parse import unquote, unquote_plus, urlsplit

import msgspec

from callgate.config.secret import MASK, FilledIn, Secret
from callgate.config.specs.config import Config, McpServerSpec
from callgate.config.specs.dsn import Dsn
from callgate.config.specs.record_store import StoreAddressSpec
from callgate.recorder.redact.redact import Redactor
from callgate.recorder.redact.secret_names import NameKind, kind_of, word_set
from callgate.recorder.redact.secret_values import is_secret_value
from callgate.wire.json_rpc import NOT_READABLE

_MIN_CHARS = 4
_MIN_DIFFERENT = 3
_MIN_LINE_CHARS = 12
_MIN_NUMBER_CHARS = 8  # of nothing but digits: a shorter one is a port, a year, a count
_MIN_MADE_UP_CHARS = 12
_MIN_MADE_UP_DIFFERENT = 8
_COMMON = word_set(
    """
    true false null none nil undefined auto default enabled disabled enable disable required
    optional yes on off admin administrator root user users username guest test tests testing tester
    demo example sample public private local localhost internal external anonymous nobody postgres
    postgresql mysql mariadb sqlite duckdb clickhouse redis mongo mongodb database server client
    service system callgate password passwd secret token apikey changeme change_me letmein qwerty
    welcome development production staging sandbox prod debug info warn warning error trace verbose
    http https stdio json text plain html utf8 utf-8 bearer basic digest read write read_only
    readonly readwrite shared session main master primary replica name value data
    dummy fake placeholder unused ignored not-needed not_needed not-used not_used your-api-key
    your_api_key ollama lm-studio
    jsonrpc method params result content arguments tools call resources prompts completion
    initialize notifications progress message type
    """
)
_PLAIN_KINDS = (NameKind.PASSWORD, NameKind.TOKEN, NameKind.HEADER)
_SCHEMES = frozenset(("basic", "bearer", "token", "apikey", "digest"))
# What is longer is kept whole, and not looked through for parts: no secret is.
_MAX_TEXT_CHARS = 64 * 1024
# Hosts, versions, regions, ids of hexadecimal groups: what people name things by.
_LABEL = re.compile(r"@?[a-z0-9]+(?:[-_./:@=]+[a-z0-9]+)+|[A-Z0-9]+(?:[-_][A-Z0-9]+)+", re.ASCII)
_LOCATION = re.compile(r"(?:[A-Za-z][A-Za-z0-9+.-]*:/|/|\.|~|[A-Za-z]:\\).*", re.DOTALL)
_WORDS = re.compile(r"[A-Za-z0-9]+", re.ASCII)
_SWITCH = re.compile(r"(?<=[A-Za-z])(?=[0-9])|(?<=[0-9])(?=[A-Za-z])", re.ASCII)
_MIN_MADE_UP_WORD_CHARS, _MIN_SWITCHES = 8, 3


def configured_secrets(config: Config, redactor: Redactor, password: str | None = None) -> frozenset[str]:
    """`redactor`: the operator's rules, without known values. `password`: only of this one."""
    finder = _Finder(redactor, frozenset(_public_words(config)))
    if password is not None:
        finder.credentials(password)
        return frozenset(finder.found)
    specs = (config.server, config.record, config.otel, config.replicas, *config.sources)
    for spec in (*specs, *config.mcp_servers.values(), *config.principals.values()):
        finder.filled_in(spec.filled_in)
    for secret in _own_secrets(config):
        finder.kept(secret.get_secret_value())
    for dsn in _addresses(config):
        finder.database(dsn)
    for server in config.mcp_servers.values():
        finder.server(server)
    for name, value in config.otel.headers.items():
        finder.named(name, value.get_secret_value())
    return frozenset(finder.found)


def _own_secrets(config: Config) -> Iterator[Secret]:
    """Tokens of clients, keys and their passwords."""
    yield from (one.token for one in config.server.tokens)
    found = [config.server.state_key, *(spec.token for spec in config.principals.values())]
    for source in config.sources:
        found += (source.ssl_key_password, source.ssh and source.ssh.key_password)
    yield from filter(None, found)


def _addresses(config: Config) -> Iterator[Dsn]:
    yield from (source.dsn for source in config.sources)
    for store in (config.record.store, config.replicas.database):
        if (dsn := _dsn_of(store)) is not None:
            yield dsn


def _dsn_of(store: StoreAddressSpec | None) -> Dsn | None:
    if store is None:
        return None
    return store.clickhouse.server if store.clickhouse is not None else store.postgres


def _public_words(config: Config) -> Iterator[str]:
    """Names that the record must be able to tell."""
    yield from config.mcp_servers
    yield from config.principals
    yield from (tool.name for tool in config.tools)
    yield from (source.id for source in config.sources)
    for dsn in _addresses(config):
        yield from filter(None, (dsn.user, dsn.host, dsn.database))


class _Finder:
    def __init__(self, redactor: Redactor, public_words: frozenset[str]) -> None:
        self._redactor = redactor
        self._public = frozenset(map(str.lower, public_words))
        self.found: set[str] = set()

    def filled_in(self, pieces: Iterable[FilledIn]) -> None:
        for piece in pieces:
            value = piece.value.get_secret_value()
            # Whoever fills in a variable of such a name means it, also where the value reads like prose.
            if piece.variable is not None and kind_of(piece.variable) in _PLAIN_KINDS:
                self.credentials(value)
            self.named(piece.variable, value)

    def server(self, spec: McpServerSpec) -> None:
        for name, value in (*spec.env.items(), *spec.headers.items()):
            self.named(name, value.get_secret_value())
        before = ""
        for arg in spec.args:
            if before.startswith("-") and "=" not in before and not arg.startswith("-"):
                self._told_by_name(before, arg)
            self._told_by_name(arg.partition("=")[0], arg.partition("=")[2])
            self.parts_of(arg)
            before = arg
        if spec.url is not None:
            self.address(spec.url)

    def database(self, dsn: Dsn) -> None:
        if dsn.password is not None:
            self.kept(dsn.password.get_secret_value())
        self._members(dsn.params)

    def address(self, url: str) -> None:
        try:
            parts = urlsplit(url)
        except ValueError:  # whoever connects to it says so
            return
        self.kept(unquote(parts.password or ""))
        self.guessed(unquote(parts.username or ""))
        pairs = (pair.partition("=") for pair in parts.query.split("&"))
        self._members({name: unquote_plus(value) for name, _, value in pairs})
        self.parts_of(url)

    def _members(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            self.named(name, value)

    def named(self, name: str | None, value: str) -> None:
        """`name`: of the variable, header or key; None: it is kept as a secret."""
        if name is None:
            self.credentials(value)
        elif not self._told_by_name(name, value):
            self.guessed(value)
        self.parts_of(value)

    def _told_by_name(self, name: str, value: str) -> bool:
        kind = kind_of(name.lstrip("-"))
        if kind is None or not is_secret_value(kind, value, name):
            return False
        self.credentials(value)
        return True

    def parts_of(self, text: str) -> None:
        """A password in an address, a header's value, a member of a document."""
        if len(text) > _MAX_TEXT_CHARS:
            return
        for part in _taken_out(text, self._redactor.text(text)):
            self.credentials(part)
        if text.lstrip()[:1] == "{":
            with suppress(*NOT_READABLE):
                self._document(msgspec.json.decode(text))

    def _document(self, value: Any, name: str = "") -> None:
        if isinstance(value, dict):
            for key, member in cast("dict[str, Any]", value).items():
                self._document(member, key)
        elif isinstance(value, list):
            for item in cast("list[Any]", value):
                self._document(item, name)
        elif isinstance(value, str) and value.lstrip()[:1] != "{":
            self.named(name, value)

    def credentials(self, value: str) -> None:
        """Also without the scheme that a header names, and each line: what is told by lines is told so."""
        self.kept(value)
        for line in value.splitlines() if len(value) <= _MAX_TEXT_CHARS else ():
            if len(line.strip()) >= _MIN_LINE_CHARS and not line.startswith("-----"):
                self.kept(line)
        scheme, _, rest = value.strip().partition(" ")
        if scheme.lower() in _SCHEMES:
            self.kept(rest)
        if scheme.lower() == "basic":
            self._basic(rest.strip())

    def _basic(self, credentials: str) -> None:
        try:
            _, _, password = b64decode(credentials, validate=True).decode().partition(":")
        except (binascii.Error, UnicodeDecodeError):
            return
        self.kept(password)

    def kept(self, value: str) -> None:
        value = value.strip()
        lowered = value.lower()
        if (
            len(value) >= (_MIN_NUMBER_CHARS if _is_number(value) else _MIN_CHARS)
            and len(set(value)) >= _MIN_DIFFERENT
            and lowered not in _COMMON
            and lowered not in self._public
        ):
            self.found.add(value)

    def guessed(self, value: str) -> None:
        value = value.strip()
        if (
            len(value) >= _MIN_MADE_UP_CHARS
            and len(set(value)) >= _MIN_MADE_UP_DIFFERENT
            and " " not in value
            and any(map(_is_made_up, _WORDS.findall(value)))
            and not _LABEL.fullmatch(value)
            and not _LOCATION.fullmatch(value)
        ):
            self.kept(value)


def _is_made_up(word: str) -> bool:
    """Letters and digits that take turns: no `project2024`."""
    return len(word) >= _MIN_MADE_UP_WORD_CHARS and len(_SWITCH.findall(word)) >= _MIN_SWITCHES


def _is_number(value: str) -> bool:
    return value.replace(".", "", 1).replace("-", "", 1).isdecimal()


def _taken_out(text: str, masked: str) -> Iterator[str]:
    """The parts of a text in whose place the mask stands."""
    if text == masked or MASK in text:
        return
    begin, *others = masked.split(MASK)
    at = len(begin)
    for kept in others:
        end = text.find(kept, at) if kept else len(text)
        if end < 0:
            return
        yield text[at:end]
        at = end + len(kept)
