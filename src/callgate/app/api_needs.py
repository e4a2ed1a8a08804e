"""What the API asks of the gateway: to make a call, and whether it is ready.

Calls are made as a client's are, through the relay. A record whose database is away is no reason to be not
ready: all replicas would say it at once, and calls go on.
"""

import time
from collections.abc import Mapping
from functools import cache
from typing import Any

import msgspec

import callgate
from callgate.model.envelope import Envelope, Era
from callgate.model.exchange import Arrival
from callgate.model.identity import new_exchange_id
from callgate.model.reply import tell_nobody
from callgate.ports.answerer import Answerer
from callgate.ports.caller import CalledTool, ServerQuestion, ToolCall
from callgate.recorder.recorder import Recorder
from callgate.wire.eras.params import with_envelope
from callgate.wire.json_rpc import encode_reply
from callgate.wire.revisions import MODERN_REVISIONS

_LEAVING = "The gateway is stopping"
_UNRECORDED = "Calls are refused: the record cannot be written, and [record] on_failure is refuse"
_answer_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])


class RelayCaller:
    """Implements `ports.Caller`."""

    def __init__(self, answerer: Answerer) -> None:
        self._answerer = answerer

    async def call(self, call: ToolCall) -> CalledTool:
        return await self._ask("tools/call", {"name": call.tool, "arguments": call.arguments}, call)

    async def ask(self, question: ServerQuestion) -> CalledTool:
        return await self._ask(question.method, question.params, question)

    async def _ask(
        self, method: str, params: Mapping[str, Any], asked: ToolCall | ServerQuestion
    ) -> CalledTool:
        exchange_id = new_exchange_id(time.time())
        envelope = _envelope(asked.program)
        arrival = Arrival(
            method=method,
            rpc_id=b"1",
            params=with_envelope(msgspec.json.encode(params), envelope),
            envelope=envelope,
            principal=asked.principal,
            transport="http",
            client=asked.client,
            target=asked.server,
            exchange_id=exchange_id,
        )
        reply = await self._answerer.answer(arrival, tell_nobody)
        if reply.fault is None:
            return CalledTool(exchange_id, reply.result or b"{}", None)
        answer = _answer_decoder.decode(encode_reply(b"1", reply))
        return CalledTool(exchange_id, None, bytes(answer["error"]))


@cache
def _envelope(program: str) -> Envelope:
    """No capabilities: nobody is there to answer a server's question."""
    version = callgate.__version__
    info = msgspec.json.encode({"name": program, "version": version})
    return Envelope(Era.MODERN, MODERN_REVISIONS[0], program, version, info)


class Readiness:
    """Whether a balancer should send us requests: what `/readyz` says."""

    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._is_leaving = False

    def leave(self) -> None:
        self._is_leaving = True

    def obstacle(self) -> str | None:
        """None: we are ready."""
        if self._is_leaving:
            return _LEAVING
        if self._recorder is not None and self._recorder.refuses_for_journal:
            return _UNRECORDED
        return None
