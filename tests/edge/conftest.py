"""A real listener on a free port with a scripted answerer and a small ASGI app behind it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

import pytest
from edge.http_probe import HttpProbe
from edge.scripted_answerer import ScriptedAnswerer

from callgate.edge.gate import LOOPBACK_NAMES, BearerToken, GateRules
from callgate.edge.listener import Listener, ListenerLimits
from callgate.model.events import Aside, Event
from callgate.model.identity import Principal
from callgate.ports.http_app import MountedApp

TOKEN = "correct-horse-battery"
OTHER_TOKEN = "another-token-entirely"


async def small_app(scope: Any, receive: Any, send: Any) -> None:
    request = await receive()
    if scope["path"] == "/bug":
        raise ZeroDivisionError("a secret in here")
    headers = [(b"content-type", b"text/plain"), (b"content-length", b"999")]
    await send({"type": "http.response.start", "status": 200, "headers": headers})
    if scope["path"] == "/stream":
        for part in (b"one ", b"two "):
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"three"})
        return
    principal = scope["state"]["principal"]
    who = principal.name if principal else "nobody"
    body = b"%s %s %s %s" % (scope["method"].encode(), scope["path"].encode(), who.encode(), request["body"])
    await send({"type": "http.response.body", "body": body})


class AsideSink:
    def __init__(self) -> None:
        self.asides: list[Aside] = []

    def emit(self, event: Event) -> None:
        assert isinstance(event, Aside), event
        self.asides.append(event)


@dataclass
class Door:
    listener: Listener
    answerer: ScriptedAnswerer
    port: int
    asides: list[Aside]  # what was refused, as the record is told

    def probe(self) -> HttpProbe:
        return HttpProbe(self.port)


async def _open_door(tokens: tuple[BearerToken, ...]) -> Door:
    answerer = ScriptedAnswerer()
    rules = GateRules(hosts=LOOPBACK_NAMES, origins=frozenset({"https://mine.example"}), tokens=tokens)
    app = MountedApp(small_app, is_open=lambda path: path == "/healthz")
    sink = AsideSink()
    listener = Listener(answerer, app, rules, ListenerLimits(100_000, 1_000), sink)
    return Door(listener, answerer, await listener.start("127.0.0.1", 0), sink.asides)


@pytest.fixture
async def door() -> AsyncIterator[Door]:
    door = await _open_door(())
    yield door
    await door.listener.close()


@pytest.fixture
async def guarded_door() -> AsyncIterator[Door]:
    """Two principals, each with a token."""
    door = await _open_door(
        (BearerToken.of(TOKEN, Principal("alice")), BearerToken.of(OTHER_TOKEN, Principal("bob")))
    )
    yield door
    await door.listener.close()
