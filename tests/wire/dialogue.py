"""Both sides of a conversation with an upstream, for the tests of `wire.connection`."""

import json
from typing import Any

from callgate.model.error_codes import UPSTREAM_EXITED
from callgate.model.errors import UpstreamError
from callgate.wire.connection.connection import Connection
from callgate.wire.connection.events import Ended, Send

EXITED = UpstreamError(UPSTREAM_EXITED, "The server's process ended with status 1", hint="See its stderr")


class Dialogue:
    """Speaks for both sides at a moment that the test moves."""

    def __init__(self, random: float = 0.5, ready: bool = True) -> None:
        self.now = 1000.0
        self.random = random
        self.connection = Connection(lambda: self.random)
        if ready:
            self.shake_hands()

    def shake_hands(self) -> list[Send]:
        self.connection.opened()
        return self.connection.ready(self.now)

    def ask(
        self, params: dict[str, Any] | None = None, timeout_s: float | None = None, call: Any = None
    ) -> int:
        raw = b"" if params is None else json.dumps(params).encode()
        return self.connection.ask("tools/call", raw, call, timeout_s, self.now).rpc_id

    def hear(self, message: Any, about: int | None = None) -> Any:
        frame = message if isinstance(message, bytes) else json.dumps({"jsonrpc": "2.0"} | message).encode()
        [event] = self.connection.receive(frame, about, self.now)
        return event

    def reply(self, rpc_id: Any) -> Any:
        return self.hear({"id": rpc_id, "result": {"of": rpc_id}})

    def tick(self, seconds: float = 0.0) -> list[Ended | Send]:
        self.now += seconds
        return self.connection.tick(self.now)
