"""How each kind of upstream is reached: a transport for a link, its era found out where HTTP can tell."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from callgate.http_client.client import HttpClient
from callgate.model.envelope import Era
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.slots import ChildSlots
from callgate.upstreams.child.spare import SpareChild
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.http.http_transport import HttpSettings
from callgate.upstreams.http.legacy_sse import LegacySseTransport
from callgate.upstreams.http.streamable_http import StreamableHttpTransport
from callgate.upstreams.link.handshake import (
    PROBE_TIMEOUT_S,
    discover_params,
    is_modern_evidence,
    read_discover,
)
from callgate.upstreams.transport import Opened, Opener, Receiver, Transport
from callgate.upstreams.unix_socket import UnixSocketTransport
from callgate.wire.fault_of import read_fault
from callgate.wire.json_rpc import Response, decode, encode_request
from callgate.wire.revisions import MODERN_REVISIONS


def _pipe_opener(make: Callable[[Receiver], Transport], only: Era | None = None) -> Opener:
    """`only`: the one era that such a transport is for."""

    async def open_pipe(receiver: Receiver, era: Era | None) -> Opened:
        return Opened(make(receiver), only or era, is_pipe=True)

    return open_pipe


def child_opener(command: ChildCommand, warden: Warden) -> Opener:
    return _pipe_opener(partial(ChildTransport, command, warden=warden))


class OwnChildOpener:
    """An `Opener` for connections that each serve one client; it keeps a process ready.

    Each takes one of the gateway's slots. The second within a minute shows that more will come: a spare waits
    for the next.
    """

    def __init__(self, command: ChildCommand, warden: Warden, slots: ChildSlots | None = None) -> None:
        self._command, self._warden, self._slots = command, warden, slots
        self.spare = SpareChild(command.name, self._new)
        self.fresh = _pipe_opener(self._new)  # without the spare, which is for clients
        self.rest = self.spare.rest  # none of its connections is left: nothing need be ready for the next one
        if slots is not None:
            slots.ask_first(self.spare.expendable)

    async def __call__(self, receiver: Receiver, era: Era | None) -> Opened:
        return _serving(self.spare.take() or self._new(), receiver, era)

    def in_folder(self, folder: Path) -> Opener:
        """For connections to programs that are started there; no spare is kept for them."""
        return _pipe_opener(partial(self._new, folder=folder))

    async def if_free(self, receiver: Receiver, era: Era | None) -> Opened:
        """As `fresh`, and nothing is ended to make room for it. Raises UpstreamError when there is none."""
        child = self._new()
        await child.warm_up()
        return _serving(child, receiver, era)

    async def close(self) -> None:
        await self.spare.close()
        if self._slots is not None:
            self._slots.ask_no_more(self.spare.expendable)
            self._slots = None

    def _new(self, receiver: Receiver | None = None, folder: Path | None = None) -> ChildTransport:
        command = self._command if folder is None else replace(self._command, cwd=folder)
        return ChildTransport(command, receiver, warden=self._warden, slots=self._slots)


def _serving(child: ChildTransport, receiver: Receiver, era: Era | None) -> Opened:
    child.serve(receiver)
    return Opened(child, era, is_pipe=True)


# No POST at this address at all: the sign of a server that knows only the old HTTP+SSE transport.
_OLD_TRANSPORT_STATUSES = frozenset({404, 405})


def http_opener(settings: HttpSettings, client: HttpClient) -> Opener:
    """For every connection to this server: which transport it has is found out by the probe, and kept."""
    has_old_transport = False
    open_sse = sse_opener(settings, client)

    async def recheck() -> Era:
        return (await _probe(settings, client))[0]

    async def open_http(receiver: Receiver, era: Era | None) -> Opened:
        nonlocal has_old_transport
        known = era
        if known is None:
            known, status = await _probe(settings, client)
            has_old_transport = known is Era.LEGACY and status in _OLD_TRANSPORT_STATUSES
        if has_old_transport and known is Era.LEGACY:
            return await open_sse(receiver, known)
        transport = StreamableHttpTransport(settings, known, client, receiver)
        return Opened(transport, known, cancels_by_closing=known is Era.MODERN, recheck=recheck)

    return open_http


def sse_opener(settings: HttpSettings, client: HttpClient) -> Opener:
    return _pipe_opener(partial(LegacySseTransport, settings, client), Era.LEGACY)


def unix_opener(path: Path) -> Opener:
    return _pipe_opener(partial(UnixSocketTransport, path))


async def _probe(settings: HttpSettings, client: HttpClient) -> tuple[Era, int]:
    """Ask `server/discover`: a result or a recognised modern error means modern, anything else legacy.

    The era, and the HTTP status. Raises UpstreamError when nobody answers at all.
    """
    headers = (
        *settings.headers,
        ("mcp-protocol-version", MODERN_REVISIONS[0]),
        ("mcp-method", "server/discover"),
    )
    frame = encode_request(b"0", "server/discover", discover_params())
    answer = await client.post(settings.url, headers, frame, PROBE_TIMEOUT_S)
    message = decode(answer.body)
    if isinstance(message, Response):
        if message.result is not None and read_discover(message.result) is not None:
            return Era.MODERN, answer.status
        if message.error is not None and is_modern_evidence(read_fault(message.error)):
            return Era.MODERN, answer.status
    return Era.LEGACY, answer.status
