"""`[server]`: our own listener. MCP servers behind us are `mcp_server`."""

import os
from collections.abc import Mapping
from itertools import pairwise
from typing import Annotated, Any, cast

from callgate.config.reading.markers import After, Before, Described, ReadBy, ShownBy, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret
from callgate.config.specs.field_types import Count, FilePath, Seconds
from callgate.config.specs.listen_address import ListenAddress, read_listen
from callgate.config.specs.quantity import DurationS, SizeBytes
from callgate.config.specs.spec import Spec

# Below 16 characters a token can be guessed by trying.
MIN_TOKEN_LENGTH = 16
_HOW_TO_MAKE_ONE = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'
# A random token of 16 hexadecimal digits has fewer different ones once in a million times.
_MIN_DIFFERENT = 5
# Neighbours that are equal or follow each other, as in `aabbcc` and `12345`: a random token has a fifth.
_MAX_RUNS = 0.6


def _read_listen(value: Any) -> ListenAddress:
    return read_listen(value, 'Write "127.0.0.1:7420".')


def check_token(token: Secret) -> Secret:
    text = token.get_secret_value()
    if len(text) < MIN_TOKEN_LENGTH:
        raise refusal(f"the token is shorter than {MIN_TOKEN_LENGTH} characters", _HOW_TO_MAKE_ONE)
    if not text.isascii() or not text.isprintable() or " " in text:
        raise refusal("the token has spaces or characters that cannot be sent in an HTTP header")
    if _is_weak(text):
        raise refusal("the token is easy to guess: it repeats itself or counts up", _HOW_TO_MAKE_ONE)
    return token


def _is_weak(text: str) -> bool:
    """Not a measure of strength: it finds what people type to be done with it."""
    is_repeated = (text + text).find(text, 1) <= len(text) // 2
    runs = sum(abs(ord(one) - ord(other)) <= 1 for one, other in pairwise(text))
    return is_repeated or len(set(text)) < _MIN_DIFFERENT or runs > _MAX_RUNS * (len(text) - 1)


class TokenSpec(Spec):
    token: Annotated[Secret, After(check_token)] = spec_key(description="The bearer token.")
    principal: str = spec_key(
        min_length=1, description="Who calls with this token, as the record names them."
    )


def _read_token(value: Any) -> Any:
    if isinstance(value, (str, TokenSpec)):
        return value
    if not isinstance(value, Mapping):
        raise refusal("a token or a table { token, principal } is expected")
    return cast("Mapping[str, Any]", value)


def _name_tokens(value: Any) -> Any:
    """A token without a principal gets `token-<position>`: two tokens are two callers."""
    if not isinstance(value, (list, tuple)):
        return value
    named: list[Any] = []
    for position, item in enumerate(cast("list[Any]", value), start=1):
        if isinstance(item, str):
            named.append({"token": item, "principal": f"token-{position}"})
        elif isinstance(item, dict):
            named.append({"principal": f"token-{position}", **cast("dict[str, Any]", item)})
        else:
            named.append(item)
    return named


_TOKEN_JSON_SCHEMA = {
    "anyOf": [
        {"type": "string", "minLength": MIN_TOKEN_LENGTH},
        {
            "type": "object",
            "properties": {
                "token": {"type": "string", "description": "The bearer token."},
                "principal": {"type": "string", "description": "Who calls with this token."},
            },
            "required": ["token"],
            "additionalProperties": False,
        },
    ]
}
_Token = Annotated[TokenSpec, Before(_read_token), Described(_TOKEN_JSON_SCHEMA)]


# Far more than any machine has cores for.
_MAX_WORKERS = 256


def _read_workers(value: Any) -> Any:
    if isinstance(value, str) and value.strip().lower() == "auto":
        return min(cores(), _MAX_WORKERS)
    hint = f'Write a number from 1 to {_MAX_WORKERS}, or "auto" for one a core.'
    if isinstance(value, str) and value.strip().isdecimal():  # of a variable or a flag
        value = int(value)
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= _MAX_WORKERS:
        raise refusal("this is not a number of worker processes", hint)
    return value


def cores() -> int:
    """That this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


_WORKERS_JSON_SCHEMA = {
    "anyOf": [{"type": "integer", "minimum": 1, "maximum": _MAX_WORKERS}, {"const": "auto"}]
}


class ServerSpec(Spec):
    listen: Annotated[
        ListenAddress,
        ReadBy(
            _read_listen,
            {"type": "string", "examples": ["127.0.0.1:7420", "[::1]:7420", "unix:/run/callgate/http.sock"]},
        ),
        ShownBy(str),
    ] = spec_key(
        default=ListenAddress(),
        description="Host and port of the HTTP endpoint, or unix:/path of a socket; port 0 takes any.",
    )
    socket_group: str | None = spec_key(
        default=None,
        min_length=1,
        description="With listen = unix:/path: a group whose members may connect, each with a token.",
    )
    tokens: Annotated[tuple[_Token, ...], Before(_name_tokens)] = spec_key(
        default=(), description="Bearer tokens; required on any address but loopback."
    )
    allowed_hosts: tuple[str, ...] = spec_key(
        default=(), description="Host names accepted in the Host header beside our own address."
    )
    allowed_origins: tuple[str, ...] = spec_key(
        default=(), description="Origins of web pages that may call, beside our own page."
    )
    max_body_bytes: SizeBytes = spec_key(
        default=16 * 1024**2, alias="max_body", ge=1, description="Largest request body accepted."
    )
    max_connections: int = spec_key(
        default=16_384,
        ge=1,
        description="Most client connections at once; fewer where the limit of open files is low.",
    )
    max_children: Count = spec_key(
        default=100,
        description="Most processes of stdio servers at once, the shared one of each server included.",
    )
    child_grace_s: Seconds = spec_key(
        default=10.0,
        description="How long a client's own process is kept after the client has left.",
    )
    child_idle_s: Seconds = spec_key(
        default=300.0,
        description="The same for a client that keeps no stream open: after its last request.",
    )
    drain_s: DurationS | None = spec_key(
        default=None,
        alias="drain",
        ge=0,
        description="How long it serves on after SIGTERM, not ready; unset: 0s, with [replicas] 15s.",
    )
    workers: Annotated[int, ReadBy(_read_workers, _WORKERS_JSON_SCHEMA)] = spec_key(
        default=1, description='How many processes serve; "auto" is one a core.'
    )
    audit_stderr: bool = spec_key(default=False, description="Print an audit line per statement to stderr.")
    tool_search: bool = spec_key(default=False, description="List a search tool instead of every tool.")
    max_offers: Count = spec_key(
        default=10_000,
        description="How many tools, prompts or resources of one server are offered; the rest is left out.",
    )
    answer_timeout_s: Seconds = spec_key(
        default=600.0, description="How long a person may take to answer a server's question."
    )
    state_key: Annotated[Secret, After(check_token)] | None = spec_key(
        default=None,
        description="Seals what travels through clients; made and kept in the state folder if unset.",
    )
    state_dir: FilePath | None = spec_key(
        default=None,
        description="Folder of the record and the address file; the user's state folder if unset.",
    )

    @property
    def is_private(self) -> bool:
        """Whether it can be reached from this machine only, and a socket by this user only."""
        return self.listen.is_loopback and self.socket_group is None

    @property
    def listen_is_default(self) -> bool:
        """Nobody asked for this address, so a busy port may give way to the next free one."""
        return not self.is_given("listen")
