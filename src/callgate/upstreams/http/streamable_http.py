"""MCP over Streamable HTTP towards one upstream, in either era: session, headers, and all that is under way.

(2025-11-25, basic/transports; 2026-07-28, basic/transports/streamable-http.) Owns the session and who is
under way; the meaning of one answer is `message_post`'s, reconnecting is `get_stream`'s, connections are the
client's. Must not know request tables, time-outs or clients: it reports to a `Receiver`.
"""

import re
from contextlib import suppress
from functools import lru_cache

from callgate.http_client.address import header_lines, post_head, request_line
from callgate.http_client.client import HttpClient
from callgate.model.envelope import Era
from callgate.model.errors import SetupError, UpstreamError
from callgate.upstreams.http.faults import session_lost_fault
from callgate.upstreams.http.get_stream import GetStream
from callgate.upstreams.http.http_transport import FAREWELL_S, MAX_WAITING, HttpSettings, HttpTransport
from callgate.upstreams.http.message_post import MessagePost
from callgate.upstreams.transport import ParamHeaders, Receiver
from callgate.wire.framing.sse import SseDecoder
from callgate.wire.http_rules import encode_header_value
from callgate.wire.revisions import MODERN_REVISIONS

# Visible ASCII (2025-11-25, basic/transports, "Session Management"); bounded, since it is sent every time.
_SESSION_ID = re.compile(rb"[!-~]{1,4096}")
# Names of tools come again with every call; what is longer is an address of a resource.
_MAX_KNOWN_CHARS = 200


class StreamableHttpTransport(HttpTransport):
    def __init__(self, settings: HttpSettings, era: Era, client: HttpClient, receiver: Receiver) -> None:
        super().__init__(settings, client, receiver)
        self._client = client
        self._is_modern = era is Era.MODERN
        self.can_resume = not self._is_modern
        self._revision = MODERN_REVISIONS[0] if self._is_modern else None
        self.session_id: bytes | None = None
        self._listen: GetStream | None = None
        self.is_listen_refused = False  # the server offers no listen stream (405): it is not asked again
        self._prepare_heads()

    def _prepare_heads(self) -> None:
        """Once per change of session or revision, not once per request."""
        state = b"" if self._revision is None else b"mcp-protocol-version: %b\r\n" % self._revision.encode()
        if self.session_id is not None:
            state += b"mcp-session-id: %b\r\n" % self.session_id
        post = post_head(self._address, self._own_lines)
        self._first_head = post  # a handshake knows neither revision nor session yet
        self._post_head = post + state
        self._state_lines = self._own_lines + state

    # ---- Transport

    async def start(self) -> None:
        """Nothing to do: connections open with the first request, and say then why they do not."""

    def send(
        self,
        frame: bytes,
        rpc_id: int | None = None,
        method: str | None = None,
        name: str | None = None,
        param_headers: ParamHeaders = (),
    ) -> bool:
        if self._is_over or (rpc_id is not None and len(self.pool.line) >= MAX_WAITING):
            return False
        head, has_session = self._post_head, self.session_id is not None
        if self._is_modern:
            if method is None or param_headers or len(name or "") > _MAX_KNOWN_CHARS:
                head += _metadata_lines(method, name, param_headers)
            else:
                head += _known_name_lines(method, name)
        elif method == "initialize":
            head, has_session = self._first_head, False
        payload = b"%bcontent-length: %d\r\n\r\n%b" % (head, len(frame), frame)
        post = MessagePost(self, payload, rpc_id, method, has_session)
        if rpc_id is None:  # as `_keep`, which is a call more
            self._unanswered.add(post)
        else:
            self._under_way[rpc_id] = post
        self.pool.send(post)
        return True

    async def close(self) -> None:
        """Ends the session (DELETE, best effort) and all that is under way, once what was said is heard."""
        if self._is_over:
            return
        await self._take_leave()
        self._stop()
        if self.session_id is None:
            return
        payload = request_line("DELETE", self._address) + self._state_lines + b"\r\n"
        self.session_id = None
        try:
            await self._client.ask(self._address, payload, FAREWELL_S)
        except UpstreamError:
            return  # gone, or it does not let clients end sessions: both fine

    @property
    def has_session(self) -> bool:
        return self.session_id is not None

    # ---- beyond Transport: what only HTTP has

    def negotiated(self, revision: str) -> None:
        self._revision = revision
        self._prepare_heads()

    def listen(self) -> None:
        """Legacy: the server's own messages, from after the handshake until `close`. Modern has none."""
        if self._is_modern or self._is_over or self.is_listen_refused or self._listen is not None:
            return
        self._listen = GetStream(self, None, SseDecoder())
        self._listen.open_now()

    def pause_stream(self, about: int | None) -> None:
        stream = self._listen if about is None else self._under_way.get(about)
        if stream is not None:
            stream.pause()

    def resume_stream(self, about: int | None) -> None:
        stream = self._listen if about is None else self._under_way.get(about)
        if stream is not None:
            stream.resume()

    # ---- what the exchanges need (StreamOwner)

    def get_payload(self, last_event_id: str | None) -> bytes:
        head = request_line("GET", self._address) + self._state_lines + b"accept: text/event-stream\r\n"
        if last_event_id:
            head += b"last-event-id: %b\r\n" % last_event_id.encode()
        return head + b"\r\n"

    def session_given(self, session_id: bytes) -> bool:
        if self._is_modern:
            return True  # ignored (2026-07-28, "Earlier Streamable HTTP Revisions")
        if not _SESSION_ID.fullmatch(session_id):
            return False
        self.session_id = session_id
        self._prepare_heads()
        return True

    def session_lost(self) -> None:
        if self._is_over:
            return
        self.session_id = None
        self._stop()
        self.receiver.lost(session_lost_fault(self.shown))

    def resume(self, about: int, decoder: SseDecoder) -> None:
        stream = GetStream(self, about, decoder)
        self._under_way[about] = stream
        stream.open_later()

    def listen_refused(self) -> None:
        self._listen = None
        self.is_listen_refused = True

    def _stop(self) -> None:
        super()._stop()
        if self._listen is not None:
            self._listen.cancel()
            self._listen = None


def _metadata_lines(method: str | None, name: str | None, param_headers: ParamHeaders) -> bytes:
    """2026-07-28, "Request Metadata": what intermediaries read instead of the body."""
    if method is None:
        return b""
    lines = _name_lines(method, name)
    # A name or value that would break out of its line: the server will say what it misses.
    with suppress(SetupError):
        lines += header_lines(param_headers)
    return lines


def _name_lines(method: str, name: str | None) -> bytes:
    lines = b"mcp-method: %b\r\n" % encode_header_value(method).encode()
    if name is not None:
        lines += b"mcp-name: %b\r\n" % encode_header_value(name).encode()
    return lines


_known_name_lines = lru_cache(maxsize=1_000)(_name_lines)
