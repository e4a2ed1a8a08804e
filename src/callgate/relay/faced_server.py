"""`/servers/<name>/mcp` of a server whose words are pinned: its lists and introduction as callers may see
them, and what they may call. Counterpart: `relay.lists`, where the aggregate's lists are read.
"""

import asyncio
import hashlib
import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.exchange import Arrival, Hop
from callgate.model.offers import OfferKind, Route
from callgate.model.reply import tell_nobody
from callgate.model.view import COMMON
from callgate.ports.faces import Faces
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.choose_route import read_reference, unknown_name
from callgate.relay.lists.ask_listing import in_our_name
from callgate.relay.lists.capability_survey import CAPABLE
from callgate.relay.lists.listings import Listings
from callgate.relay.lists.offer_rules import FACED_KINDS
from callgate.wire.eras.params import OUR_MODERN_ENVELOPE
from callgate.wire.json_rpc import NOT_READABLE, read_if_readable
from callgate.wire.params import entries_decoder, members_decoder, name_of, peek, text_of, with_member
from callgate.wire.revisions import META_SERVER_INFO

# Pages that were judged; each client lists the same few.
_MAX_PAGES = 64
# For how a server introduces itself; a person waits.
_PATIENCE_S = 15.0


# By server, kind and digest of the page: the version it was judged by, and the page; None: as it is.
_Pages = dict[tuple[str, OfferKind, bytes], tuple[int, bytes | None]]


class FacedServer(msgspec.Struct, frozen=True):
    """One server whose words are pinned."""

    name: str
    faces: Faces
    listings: Listings
    pages: _Pages  # of all such servers

    async def page(self, kind: OfferKind, result: bytes, asker: Asker) -> bytes:
        """A page of its list as callers may see it: the same bytes, unless something is held."""
        if self.listings.listing(self.name, kind, asker) is None:
            with suppress(CallgateError):  # first sight is of the whole list
                await self.listings.ask_part(self.name, kind, in_our_name(COMMON))
        key = (self.name, kind, hashlib.blake2b(result, digest_size=16).digest())
        version, pages = self.faces.version, self.pages
        known = pages.get(key)
        if known is None or known[0] != version:
            known = (version, await asyncio.to_thread(_faced_page, self.faces, self.name, kind, result))
            if len(pages) >= _MAX_PAGES:
                del pages[next(iter(pages))]
            pages[key] = known
        return result if known[1] is None else known[1]

    async def introduction(self, result: bytes) -> bytes:
        """`initialize` or `server/discover`, with the instructions and the server's name that callers may
        see."""
        members = read_if_readable(members_decoder, result)
        if members is None:
            return result  # no client can read it either
        result = await asyncio.to_thread(_said_once, result, members)  # of 16 MB it takes most of a second
        result = await self._with_faced_info(result, members)
        raw = members.get("instructions", msgspec.Raw(b"null"))
        told = text_of(raw)
        shown = await asyncio.to_thread(self.faces.instructions, self.name, told)
        if shown == told and (told is not None or bytes(raw) == b"null"):
            return result
        if shown is not None:
            return with_member(result, "instructions", msgspec.json.encode(shown))
        members = members_decoder.decode(result)
        del members["instructions"]
        return msgspec.json.encode(members)

    def check(self, kind: OfferKind, name: str, asker: Asker) -> None:
        """Raises CallerError for what callers must not know of."""
        listing = self.listings.listing(self.name, kind, asker)
        part = listing.part if listing is not None else None
        is_hidden = self.faces.hides(self.name, kind, name) or (part is not None and name in part.hidden)
        if not is_hidden and self.faces.mode_of(self.name) == "hold" and part is not None:
            is_hidden = Route(self.name, name) not in part.by_route
        if is_hidden:
            raise unknown_name(name, kind, f"{self.name} does not offer it")

    def check_prompt(self, arrival: Arrival, asker: Asker) -> None:
        """The one that is asked for. The arguments of one that is not offered are not completed either."""
        if arrival.method == "prompts/get":
            name = name_of(arrival.params, arrival.method)
        else:
            ref = read_reference(bytes(peek(arrival.params).ref))
            name = text_of(ref.name) if text_of(ref.type) == "ref/prompt" else None
        if name is not None:
            self.check(OfferKind.PROMPT, name, asker)

    async def _with_faced_info(self, result: bytes, members: Mapping[str, msgspec.Raw]) -> bytes:
        """Each era tells it in its own place. A version is no text for a model, and changes by itself."""
        if "serverInfo" in members:
            result = with_member(result, "serverInfo", await self._faced_info(members["serverInfo"]))
        meta = read_if_readable(members_decoder, members.get("_meta", msgspec.Raw(b"{}")))
        if meta is None:
            return with_member(result, "_meta", b"{}")
        if META_SERVER_INFO not in meta:
            return result
        meta[META_SERVER_INFO] = msgspec.Raw(await self._faced_info(meta[META_SERVER_INFO]))
        return with_member(result, "_meta", msgspec.json.encode(meta))

    async def _faced_info(self, told: msgspec.Raw) -> bytes:
        info = read_if_readable(members_decoder, told)
        if info is None:  # nothing that anybody accepted
            return msgspec.json.encode({"name": self.name, "version": ""})
        version = info.pop("version", msgspec.Raw(b'""'))
        named = msgspec.json.encode(info)
        shown = await asyncio.to_thread(self.faces.server_info, self.name, named)
        if shown is named:
            return bytes(told)
        face = members_decoder.decode(shown or msgspec.json.encode({"name": self.name}))
        return msgspec.json.encode({**face, "version": version})


class FacedServers:
    def __init__(self, listings: Listings) -> None:
        self._listings = listings
        self._pages: _Pages = {}

    def of(self, server: str) -> FacedServer | None:
        """None: what it says passes as it comes."""
        faces = self._listings.naming.faces_of(server)
        return None if faces is None else FacedServer(server, faces, self._listings, self._pages)

    async def look(self, server: Upstream) -> None:
        """Has what the server says now judged: its lists, and how it introduces itself."""
        faced = self.of(server.name)
        if faced is None:
            return
        asker = in_our_name(COMMON)
        for kind in FACED_KINDS:
            with suppress(CallgateError):
                await self._listings.ask_part(server.name, kind, asker)
        with suppress(CallgateError):  # the same, unless it lists other tools to clients that declare more
            await self._listings.ask_part(server.name, OfferKind.TOOL, in_our_name(CAPABLE))
        method = "initialize"  # answered from the server's own handshake
        if server.health().era == Era.MODERN.value:
            method = "server/discover"
            asker = Asker(OUR_MODERN_ENVELOPE, asker.session, asker.rpc_id)
        hop = Hop(server.name, method, b"{}", time.monotonic())
        with suppress(CallgateError, TimeoutError):
            reply = await asyncio.wait_for(server.ask(hop, asker, tell_nobody), _PATIENCE_S)
            if reply.result is not None:
                await faced.introduction(reply.result)


def _said_once(result: bytes, members: Mapping[str, msgspec.Raw]) -> bytes:
    """The same bytes, unless it gives a member twice: one reader takes the first, another the last, and only
    the last was judged."""
    names: list[str] = []

    def note(pairs: list[tuple[str, Any]]) -> None:
        names[:] = [name for name, _ in pairs]  # the outermost comes last

    try:
        json.loads(result, object_pairs_hook=note)
    except (ValueError, RecursionError):
        return msgspec.json.encode(members)
    return result if len(names) == len(members) else msgspec.json.encode(members)


def _faced_page(faces: Faces, server: str, kind: OfferKind, result: bytes) -> bytes | None:
    """None: as it is."""
    try:
        members = members_decoder.decode(result)
        entries = [bytes(entry) for entry in entries_decoder.decode(members[kind.member])]
    except (*NOT_READABLE, KeyError):
        return b'{"%b":[]}' % kind.member.encode()  # what we cannot read, nobody accepted
    shown = list(faces.show(server, kind, entries, "part").entries)
    if shown == entries:
        once = _said_once(result, members)
        return None if once is result else once
    members[kind.member] = msgspec.Raw(b"[%b]" % b",".join(shown))
    return msgspec.json.encode(members)
