"""JSON-RPC, lines and server-sent events: `wire`."""

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from callgate.model.errors import CallerError
from callgate.wire.connection.connection import Connection
from callgate.wire.connection.conversation import Conversation, IncomingRequest, Refuse
from callgate.wire.framing.lines import LineSplitter
from callgate.wire.framing.sse import SseDecoder
from callgate.wire.json_rpc import decode, decode_batch

_MAX_FRAME_BYTES = 2_000
_KEYS = (
    *("jsonrpc", "id", "method", "params", "result", "error", "_meta", "name", "arguments", "uri"),
    *("ref", "cursor"),
    *("progressToken", "requestId", "progress", "protocolVersion", "capabilities", "clientInfo"),
    *("elicitation",),
    *("io.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/clientCapabilities"),
    *("requestState",),
    *("io.modelcontextprotocol/clientInfo", "io.modelcontextprotocol/logLevel", "inputResponses"),
    *("level", "\ud800"),
)  # fmt: skip
_METHODS = (
    *("initialize", "ping", "tools/call", "tools/list", "resources/read", "server/discover"),
    *("completion/complete",),
    *("notifications/cancelled", "notifications/progress", "notifications/initialized"),
    *("subscriptions/listen",),
    *("sampling/createMessage", "elicitation/create", "notifications/message", "logging/setLevel", ""),
)  # fmt: skip
_ODD = (
    None,
    True,
    0,
    1,
    -1,
    1.5,
    10**30,
    "",
    "x",
    "1",
    "2.0",
    "2025-06-18",
    "2026-07-28",
    [],
    {},
    "\ud800",
    "\0",
)
_INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "a", "version": "1"},
}


def _value(random: Random, deep: int = 3) -> Any:
    if deep == 0 or random.random() < 0.5:
        return random.choice(_ODD)
    if random.random() < 0.2:
        return [_value(random, deep - 1) for _ in range(random.randint(0, 3))]
    return {random.choice(_KEYS): _value(random, deep - 1) for _ in range(random.randint(0, 5))}


def _message(random: Random) -> bytes:
    made: dict[str, Any] = {"jsonrpc": "2.0", "id": random.randint(0, 3), "method": random.choice(_METHODS)}
    made["params"] = _INITIALIZE if random.random() < 0.2 else _value(random)
    for key in random.sample(sorted(made), random.choice((0, 0, 1, 2))):
        del made[key]
    if random.random() < 0.3:
        made[random.choice(_KEYS)] = _value(random)
    return json.dumps(made, ensure_ascii=random.random() < 0.8).encode("utf-8", "surrogatepass")


_WORDS = (
    *(json.dumps(word).encode() for word in (*_KEYS, *_METHODS)),
    b'"jsonrpc":"2.0"',
    b"\n",
    b"\r\n",
)
_SEEDS = (
    *(_message(Random(number)) for number in range(60)),
    b'[{"jsonrpc":"2.0","id":1,"method":"ping"},0,[]]',
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":%b}' % json.dumps(_INITIALIZE).encode(),
)


class JsonRpcTarget:
    name = "json_rpc"
    share = 12
    hang_cpu_s = 2.0
    is_cut = False
    words = _WORDS
    seeds = _SEEDS

    def run(self, pieces: Sequence[bytes]) -> Any:
        frame = b"".join(pieces)
        try:
            return decode(frame), decode_batch(frame)
        except CallerError as error:
            return error.code

    def generated(self, random: Random) -> bytes:
        return _message(random)


class LinesTarget:
    name = "lines"
    share = 8
    hang_cpu_s = 2.0
    is_cut = True
    words = _WORDS
    seeds = tuple(seed + b"\n" for seed in _SEEDS)

    def run(self, pieces: Sequence[bytes]) -> Any:
        """All frames, or that one was too long. (Those before it come only if their packet came first.)"""
        splitter, frames = LineSplitter(_MAX_FRAME_BYTES), []
        try:
            for piece in pieces:
                frames += splitter.feed(piece)
        except CallerError as error:
            return error.code
        return frames

    def generated(self, random: Random) -> bytes:
        ends = (b"\n", b"\n", b"\n", b"\r\n", b"\n\n", b"\r", b"")
        parts = (_message(random) * random.choice((1, 1, 1, 20)) for _ in range(random.randint(1, 4)))
        return b"".join(part + random.choice(ends) for part in parts)


class ConversationTarget(LinesTarget):
    """A client on a pipe, whose handshakes succeed."""

    name = "conversation"
    share = 8
    hang_cpu_s = 2.0

    def run(self, pieces: Sequence[bytes]) -> Any:
        conversation, events = Conversation(), []
        for piece in pieces:
            waiting = conversation.receive(piece)
            while waiting:
                event = waiting.pop(0)
                events.append((type(event).__name__, getattr(event, "frame", None)))
                if isinstance(event, IncomingRequest) and event.request.method == "initialize":
                    # At once, so that packets make no difference to what is held meanwhile.
                    events += map(type, conversation.handshake_done(event.envelope))
                if isinstance(event, IncomingRequest):
                    conversation.closed(event.request.rpc_id)
                if isinstance(event, Refuse):
                    assert event.error.code
        return events

    # What one packet brings is read before any of it is answered: there packets do make a difference.
    is_cut = False


class UpstreamTarget(LinesTarget):
    """A server on a pipe that two requests were put to."""

    name = "upstream"
    share = 8
    hang_cpu_s = 2.0

    def run(self, pieces: Sequence[bytes]) -> Any:
        connection = Connection(lambda: 0.5)
        connection.opened()
        connection.ready(0.0)
        for _ in range(2):
            connection.ask("tools/call", b'{"name":"x","_meta":{"progressToken":1}}', None, 60.0, 0.0)
        splitter, events = LineSplitter(), []
        for piece in pieces:
            for frame in splitter.feed(piece):
                events += connection.receive(frame, None, 1.0)
        return [type(event).__name__ for event in events]


class SseTarget:
    name = "sse"
    share = 12
    hang_cpu_s = 2.0
    is_cut = True
    words = (
        b"data: ",
        b"data",
        b"event: message",
        b"id: 1",
        b"retry: 10",
        b":",
        b"\xef\xbb\xbf",
        b"\r",
        b"\n",
        b"\r\n",
    )
    seeds = (
        b"event: message\ndata: {}\n\n",
        b"\xef\xbb\xbfid: 1\r\nretry: 10\r\ndata: a\r\ndata: b\r\n\r\n",
        b": comment\n\ndata\ndata:\ndata:  x\rid: \0\r\r",
        b"retry: 99999999999\nretry: x\nid\n\ndata: y",
    )

    def run(self, pieces: Sequence[bytes]) -> Any:
        decoder, events = SseDecoder(_MAX_FRAME_BYTES), []
        try:
            for piece in pieces:
                events += decoder.feed(piece)
        except CallerError as error:
            return error.code
        return events

    def generated(self, random: Random) -> bytes:
        names = (b"data", b"data", b"data", b"event", b"id", b"retry", b"", b"x", b"\xef\xbb\xbfdata")
        values = (b"", b"x", b" x", b"  x", b"\0", b"12", b"\xff", b"y" * 900, b":", b"9" * 30)
        ends = (b"\n", b"\n", b"\r\n", b"\r", b"\n\n", b"\r\r", b"\r\n\r\n", b"\n\r")
        lines = (
            random.choice(names) + random.choice((b":", b"")) + random.choice(values) + random.choice(ends)
            for _ in range(random.randint(1, 12))
        )
        return b"".join(lines)
