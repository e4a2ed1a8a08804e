"""What servers changed of what they say, and the operator's word on it: accept, block, unblock.

Who accepts answers to what was shown: the answer names the digest, and a change in between is `caller.stale`.
Definitions are told without the secrets that servers put into their schemas. Where that is so, a finding
says it: a hostile server can make any words look like a secret, and callers get them.
"""

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Annotated, Any, Literal, cast
from zlib import crc32

import msgspec
from msgspec import Meta

from callgate.api.operation import Asked, Operation
from callgate.model.error_codes import (
    CALLER_BAD_ARGUMENTS,
    CALLER_NOT_FOUND,
    CALLER_STALE,
    CALLER_UNKNOWN_SERVER,
    SETUP_LOCK,
)
from callgate.model.errors import unknown_server
from callgate.model.identity import Role
from callgate.model.trust import Change, Flaw, PinnedKind, ServerTrust, TrustItem, TrustMode
from callgate.ports.faces import TrustDesk

_MAX_ITEMS = 10_000
_MAX_TOLD = 1_000  # in a row of the record
_MASKED = "text that looks like a secret and is not shown, but callers get it"
_MAX_MASKED = 50


class FlawShape(msgspec.Struct):
    kind: str
    words: str
    holds: bool
    where: str
    excerpt: str


class TrustItemShape(msgspec.Struct):
    kind: PinnedKind
    name: str
    change: Change
    held: bool
    digest: str
    findings: list[FlawShape]
    accepted: Any = None  # the definition; null: none was accepted, or it is not known here
    now: Any = None


class TrustName(msgspec.Struct):
    kind: PinnedKind
    name: str


class ServerTrustShape(msgspec.Struct):
    server: str
    trust: TrustMode
    pinned: int
    changed: int  # beside what is held
    held: int
    items: list[TrustItemShape]
    names: list[TrustName]  # all that can be blocked and unblocked; empty in the short form


class TrustList(msgspec.Struct):
    servers: list[ServerTrustShape]
    held: int
    changed: int
    problem: str | None = None


class NamedItem(msgspec.Struct, forbid_unknown_fields=True):
    name: Annotated[str, Meta(max_length=10_000)] = ""
    kind: PinnedKind = "tool"
    digest: Annotated[str, Meta(max_length=100, description="As it was shown; to accept.")] = ""


class TrustBody(msgspec.Struct, forbid_unknown_fields=True):
    items: Annotated[list[NamedItem], Meta(min_length=1, max_length=_MAX_ITEMS)]


class TrustApi:
    def __init__(self, desk: TrustDesk | None, redact_document: Callable[[bytes], bytes]) -> None:
        self._desk = desk
        self._redact = redact_document

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/trust",
                "listTrust",
                "What servers changed of what was accepted, in short; asks them again",
                self.list,
                TrustList,
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/trust/{server}",
                "getTrust",
                "The same of one server, with both definitions of each change",
                self.get,
                ServerTrustShape,
                errors=(CALLER_UNKNOWN_SERVER,),
                role=Role.WATCH,
            ),
            self._answer("accept", "Accept what was shown: callers get it from now on"),
            self._answer(
                "block", "Block tools, prompts or templates: callers do not know of them from now on"
            ),
            self._answer("unblock", "Take a block back: what was accepted counts again"),
        ]

    def _answer(self, act: Literal["accept", "block", "unblock"], summary: str) -> Operation:
        async def answer(asked: Asked[None, TrustBody]) -> ServerTrustShape:
            desk, server = self._of(asked)
            items = [TrustItem(one.kind, one.name, "changed", False, one.digest) for one in asked.body.items]
            match act:
                case "accept":
                    return self._shape(await desk.accept(server, items))
                case "block":
                    return self._shape(await desk.block(server, items))
                case "unblock":
                    return self._shape(await desk.unblock(server, items))

        return Operation(
            f"/api/v1/trust/{{server}}/{act}",
            f"{act}Trust",
            summary,
            answer,
            ServerTrustShape,
            takes=TrustBody,
            errors=(
                CALLER_BAD_ARGUMENTS,
                CALLER_UNKNOWN_SERVER,
                CALLER_NOT_FOUND,
                *((CALLER_STALE,) if act == "accept" else ()),
                SETUP_LOCK,
            ),
            role=Role.OPERATE,
            tells=_told,
        )

    async def list(self, asked: Asked[None, None]) -> TrustList:
        if self._desk is None:
            return TrustList([], 0, 0)
        told = [self._shape(one, in_short=True) for one in await self._desk.look()]
        held, changed = sum(one.held for one in told), sum(one.changed for one in told)
        return TrustList(told, held, changed, self._desk.problem)

    async def get(self, asked: Asked[None, None]) -> ServerTrustShape:
        desk, server = self._of(asked)
        return self._shape((await desk.look(server))[0])

    def _of(self, asked: Asked[Any, Any]) -> tuple[TrustDesk, str]:
        server = asked.path["server"]
        if self._desk is None:
            raise unknown_server(server, ())
        return self._desk, server

    def _shape(self, told: ServerTrust, *, in_short: bool = False) -> ServerTrustShape:
        items = [self._item(item, in_short) for item in told.items]
        names = [] if in_short else [TrustName(kind, name) for kind, name in told.names]
        return ServerTrustShape(told.server, told.mode, told.pinned, told.changed, told.held, items, names)

    def _item(self, item: TrustItem, in_short: bool) -> TrustItemShape:
        shape = TrustItemShape(
            item.kind,
            item.name,
            item.change,
            item.is_held,
            item.digest,
            [flaw_shape(one) for one in item.flaws],
        )
        if not in_short:
            (shape.accepted, _), (shape.now, masked) = self._read(item.accepted), self._read(item.now)
            shape.findings += [FlawShape("masked", _MASKED, False, place, "***") for place in masked]
        return shape

    def _read(self, definition: bytes | None) -> tuple[Any, Sequence[str]]:
        """It as it is shown, and the places of what is not."""
        if definition is None:
            return None, ()
        try:
            shown = msgspec.json.decode(self._redact(definition))
            return shown, tuple(islice(_masked(msgspec.json.decode(definition), shown), _MAX_MASKED))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return {"unreadable": definition[:2_000].decode(errors="replace")}, ()


def _masked(told: Any, shown: Any, place: str = "") -> Iterator[str]:
    if isinstance(told, dict) and isinstance(shown, dict):
        members = cast("dict[str, Any]", told)
        for name, member in members.items():
            yield from _masked(member, cast(Any, shown).get(name), f"{place}.{name}".removeprefix("."))
    elif isinstance(told, list) and isinstance(shown, list):
        pairs = zip(cast("list[Any]", told), cast("list[Any]", shown), strict=False)
        for number, (one, other) in enumerate(pairs):
            yield from _masked(one, other, f"{place}[{number}]")
    elif told != shown:
        yield place


def trust_in_short(desk: TrustDesk | None) -> Sequence[dict[str, Any]]:
    """For the stream: names and numbers, never what a server says."""
    if desk is None:
        return ()
    return [
        {
            "server": one.server,
            "held": one.held,
            "changed": one.changed,
            "version": crc32(
                repr([(item.kind, item.name, item.digest, item.change) for item in one.items]).encode()
            ),
        }
        for one in desk.news
    ]


def _told(asked: Asked[Any, Any]) -> dict[str, Any]:
    """What was answered, for the record: names and digests."""
    named: list[NamedItem] = asked.body.items[:_MAX_TOLD]
    return {"items": [{"kind": one.kind, "name": one.name[:200], "digest": one.digest} for one in named]}


def flaw_shape(flaw: Flaw) -> FlawShape:
    return FlawShape(flaw.kind, flaw.words, flaw.holds, flaw.where, flaw.excerpt)
