"""Who comes in: tokens that are missing or the same, and principals whom nobody can be."""

from collections.abc import Iterator
from typing import Any

from callgate.config.draft import Draft
from callgate.config.problem import ConfigProblem, Loc, key_path
from callgate.config.raw_values import list_of, table_of
from callgate.config.specs.listen_address import ListenAddress, ListenError, parse_listen
from callgate.model.identity import LOCAL, token_hash_of
from callgate.model.near_miss import did_you_mean

_MAX_NAME_CHARS = 100


def check_tokens(draft: Draft) -> Iterator[ConfigProblem]:
    section = draft.table("server")
    tokens = section.get("tokens", [])
    if not _needs_token(draft) and not listens_on_loopback(draft):
        hint = 'Write tokens = ["${CALLGATE_TOKEN}"], or listen on 127.0.0.1.'
        who = "other users" if "socket_group" in section else "other machines"
        yield ConfigProblem(
            "server.tokens", f"an address that {who} can reach needs at least one token", hint
        )
    seen: dict[str, Loc] = {}
    for loc, token_hash in (*_server_tokens(draft, list_of(tokens)), *_tokens_of_principals(draft)):
        if token_hash in seen:
            yield ConfigProblem(draft.path_of(loc), f"this is the same token as {key_path(seen[token_hash])}")
        seen.setdefault(token_hash, loc)
    yield from _check_principals(draft, _names_of_tokens(list_of(tokens)))


def _server_tokens(draft: Draft, tokens: list[Any]) -> Iterator[tuple[Loc, str]]:
    for at, item in enumerate(tokens):
        token = item if isinstance(item, str) else table_of(item).get("token")
        loc: Loc = ("server", "tokens", at)
        if isinstance(token, str) and not draft.is_broken(loc) and not draft.is_broken((*loc, "token")):
            yield loc, token_hash_of(token)


def _tokens_of_principals(draft: Draft) -> Iterator[tuple[Loc, str]]:
    for name, raw in draft.table("principals").items():
        loc: Loc = ("principals", name, "token")
        token, token_hash = table_of(raw).get("token"), table_of(raw).get("token_hash")
        if isinstance(token, str) and not draft.is_broken(loc):
            yield loc, token_hash_of(token)
        elif isinstance(token_hash, str):
            yield ("principals", name, "token_hash"), token_hash


def _names_of_tokens(tokens: list[Any]) -> set[str]:
    """Who comes with `[server] tokens`, as `specs.server` names them."""
    return {
        str(table_of(item).get("principal", f"token-{position}")) for position, item in enumerate(tokens, 1)
    }


def _check_principals(draft: Draft, with_server_token: set[str]) -> Iterator[ConfigProblem]:
    for name, raw in draft.table("principals").items():
        loc, table = ("principals", name), table_of(raw)
        if not name or len(name) > _MAX_NAME_CHARS or not name.isprintable():
            yield ConfigProblem(
                key_path(loc), f"a name has 1 to {_MAX_NAME_CHARS} characters that can be printed"
            )
        if "token" in table and "token_hash" in table:
            yield ConfigProblem(
                key_path(loc), "token and token_hash are given", "Keep one: the hash is safer."
            )
        has_token = "token" in table or "token_hash" in table
        if has_token and (name in with_server_token or name == LOCAL.name):
            whose = (
                "a token in [server] tokens" if name in with_server_token else "the person at this machine"
            )
            yield ConfigProblem(key_path(loc), f"this name is {whose} already", "Choose another name.")
        elif isinstance(raw, dict) and not has_token and name != LOCAL.name and name not in with_server_token:
            hint = did_you_mean(name, with_server_token) or "Make one with: callgate token add <name>"
            yield ConfigProblem(key_path(loc), "nobody can come by this name: it has no token", hint)
        if "expires" in table and not has_token:
            yield ConfigProblem(key_path((*loc, "expires")), "there is no token here that could expire")


def listens_on_loopback(draft: Draft) -> bool:
    section = draft.table("server")
    text = section.get("listen", str(ListenAddress()))
    if not isinstance(text, str) or draft.is_broken(("server", "listen")):
        return True
    try:
        return parse_listen(text).is_loopback and "socket_group" not in section
    except ListenError:
        return True


def _needs_token(draft: Draft) -> bool:
    principals = map(table_of, draft.table("principals").values())
    has_own = any("token" in one or "token_hash" in one for one in principals)
    return has_own or draft.table("server").get("tokens", []) != []
