"""One request of a client's over one line, in the words of the line's era: the upstream half of the bridge.

Rules
1. Within one era a request passes as it is; only what a line is shared for is kept back (a subscription
   that others still need, a log level that would hide theirs).
2. Modern client, legacy line: the envelope goes, `server/discover` is answered from the handshake, a
   listener hears the line's notices, the log level of the request is set at the server first. Methods that
   ended with the legacy era do not exist, and a `requestState` that came this far is nobody's.
3. Legacy client, modern line: the envelope is made of what the client declared, and `initialize` is
   answered from `server/discover`. A subscription becomes part of our own listening, a level is remembered
   for each request.

`relay.parked_calls` and `relay.rounds` are the other half: whom a server's question reaches.
"""

import asyncio
from collections.abc import Awaitable, Coroutine
from dataclasses import replace
from typing import Any

import msgspec

from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import CALLER_REQUEST_STATE, CALLER_UNKNOWN_METHOD
from callgate.model.errors import CallerError
from callgate.model.exchange import Hop
from callgate.model.offers import OfferKind
from callgate.model.reply import Asking, Notice, Reply, Said, Tell, Withdrawn
from callgate.ports.upstream import Asker, CallListener
from callgate.upstreams.link.call import Call
from callgate.upstreams.link.handshake import Introduction
from callgate.upstreams.link.line import Line
from callgate.upstreams.link.log_levels import NOTHING, LogLevels, check_level, level_in
from callgate.upstreams.link.own_lines import OwnLines
from callgate.wire.connection.request_table import NO_TIMEOUT
from callgate.wire.eras.capabilities import discover_of, initialize_of
from callgate.wire.eras.input_required import CALL_ANEW, ROUND_TRIP_METHODS, first_params, read_retry
from callgate.wire.eras.params import with_envelope, without_envelope, without_task
from callgate.wire.eras.subscription import subscription_of, with_subscription
from callgate.wire.params import named_in, peek

LIST_METHODS = frozenset(kind.method for kind in OfferKind)
_ASKED_BY_RELAY = LIST_METHODS | {"subscriptions/listen"}
# Gone in 2026-07-28 (changelog, major 2, 4 and 5), and not there before it.
_LEGACY_METHODS = frozenset(
    {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"}
)
_MODERN_METHODS = frozenset({"server/discover", "subscriptions/listen"})


class CallOnLine(msgspec.Struct, frozen=True):
    line: Line
    introduction: Introduction
    levels: LogLevels

    def plain(self, hop: Hop, asker: Asker, tell: Tell) -> Coroutine[Any, Any, Reply]:
        """As it is, but for the envelope."""
        modern_client = asker.envelope.era is Era.MODERN
        if self.introduction.era is Era.MODERN:
            params = hop.params
            # The envelope of a modern client's own request is there: edge saw to that.
            if not modern_client or hop.method in _ASKED_BY_RELAY:
                if hop.method == "tools/call":
                    params = without_task(params)
                params = with_envelope(params, _speaker(asker, self.levels))
            # Only the modern era repeats the name in a header.
            call = Call(named_in(hop.method, peek(params)), hop.param_headers, hop)
        else:
            params = without_envelope(hop.params) if modern_client else hop.params
            call = Call(None, (), hop)
            # A list is asked for many, and MRTR has no place for questions on any other method.
            askable = hop.method in ROUND_TRIP_METHODS if modern_client else hop.method not in LIST_METHODS
            call.may_be_asked = askable
            call.log_floor = self.levels.floor_of(asker)
            call.declared = asker.envelope.capabilities if modern_client else None
        timeout_s = None
        if hop.method == "tools/call":
            timeout_s, call.limit_key = self.line.call_limits.of(params)
        elif hop.method == "subscriptions/listen":
            timeout_s = NO_TIMEOUT
        return self.line.link.ask(call, hop.method, params, tell, timeout_s)

    async def any(self, hop: Hop, asker: Asker, tell: Tell) -> Reply:
        """Whatever the method is, and whichever the eras."""
        reply = await self._own_reply(hop, asker)
        if reply is not None:
            return reply
        if hop.method != "subscriptions/listen":
            return await self.plain(hop, asker, tell)
        if self.introduction.era is Era.LEGACY:
            return await self.line.listen(hop.params, asker.rpc_id, tell)
        # The client knows its subscription by its own request's id, the upstream by ours.
        reply = await self.plain(hop, asker, lambda said: tell(_restore_subscription(said, asker.rpc_id)))
        if reply.result is not None and subscription_of(reply.result) is not None:
            reply = Reply(result=with_subscription(reply.result, asker.rpc_id))
        return reply

    async def in_turn(self, hop: Hop, asker: Asker, tell: Tell, own: OwnLines, timeout_s: float) -> Reply:
        """A call that may be asked something where questions carry no address: see `own_lines`, rule 3."""
        turn = await own.take_turn(asker.envelope, asker.session, timeout_s)
        try:
            introduction = await own.until_ready(turn.line, timeout_s)
            call = CallOnLine(turn.line, introduction, self.levels)

            def put(said: Said) -> Awaitable[None]:
                if isinstance(said, Asking):
                    return tell(turn.ask(said))
                return tell(turn.take_back(said) if isinstance(said, Withdrawn) else said)

            return await call.any(hop, asker, put)
        finally:
            turn.end()

    async def _own_reply(self, hop: Hop, asker: Asker) -> Reply | None:
        """What is answered here, or by the line for all who share it; None: it is to be passed on."""
        introduction, method = self.introduction, hop.method
        modern_client, modern_line = asker.envelope.era is Era.MODERN, introduction.era is Era.MODERN
        gone = _LEGACY_METHODS if modern_client else _MODERN_METHODS
        if modern_client is not modern_line and method in gone:
            other = "handshake era (to 2025-11-25)" if modern_client else "modern era (2026-07-28)"
            text = f"Method not found: {method}"
            raise CallerError(CALLER_UNKNOWN_METHOD, text, hint=f"It belongs to the {other}")
        if modern_client:
            return await self._for_modern(hop, asker) if not modern_line else None
        session_id = asker.session.session_id
        match method:
            case "initialize":
                return Reply(
                    result=initialize_of(introduction.result) if modern_line else introduction.result
                )
            case "resources/subscribe":
                return await self.line.watches.add(hop.params, session_id)
            case "resources/unsubscribe":
                return await self.line.watches.remove(hop.params, session_id)
            case "logging/setLevel" if modern_line:
                level = level_in(hop.params)
                check_level(level)
                self.levels.by_session[session_id] = level
                return Reply(result=b"{}")
            case "logging/setLevel":
                set_level = self.line.set_level if self.line.link.is_shared else self.line.pass_level
                reply = await set_level(hop.params)
                if reply.fault is None:
                    self.levels.by_session[session_id] = level_in(hop.params)
                return reply
            case _:
                return None

    async def _for_modern(self, hop: Hop, asker: Asker) -> Reply | None:
        if hop.method == "server/discover":
            return Reply(result=discover_of(self.introduction.result))
        if hop.method in ROUND_TRIP_METHODS:
            _check_first(hop)
        if (level := asker.envelope.log_level) is not None:
            check_level(level)
            await self.line.show(level)
        return None


class ToolOnLine:
    """Calls of one tool by one client over a line of either era: what they have in common is decided once.

    Implements `ports.ToolCaller`. It is of no use any more when the line ended, or its server started again.
    It does not keep a line that serves one client alone: it is remembered for longer than that may live.
    """

    __slots__ = (
        "_asker", "_crosses", "_introduction", "_is_legacy", "_levels", "_limit_key", "_loop", "_name",
        "_own", "_shared", "_timeout_s",
    )  # fmt: skip

    def __init__(
        self,
        line: Line,
        introduction: Introduction,
        levels: LogLevels,
        native_name: str,
        asker: Asker,
        own: OwnLines | None,
    ) -> None:
        """`own`: those among which the line is one; None: it is shared."""
        self._shared = line if own is None else None
        self._loop = asyncio.get_running_loop()  # to ask for it is a system call (getpid), in Python 3.11
        self._introduction = introduction
        self._levels = levels
        self._asker = asker
        self._own = own
        self._is_legacy = introduction.era is Era.LEGACY
        self._crosses = introduction.era is not asker.envelope.era
        # Only the modern era repeats the name in a header.
        self._name = None if self._is_legacy else native_name
        self._timeout_s, self._limit_key = line.call_limits.of_tool(native_name)

    def begin(self, hop: Hop, listener: CallListener) -> Call | None:
        """Under way when this returns. Raises UpstreamError when the server is down, CallerError for a state
        that is nobody's."""
        introduction, line = self._introduction, self._shared
        if self._own is not None:
            line = self._own.find(self._asker.envelope, self._asker.session)
        if line is None or line.link.ready is not introduction:  # each handshake has its own
            return None
        link = line.link
        if self._own is not None:
            link.used_at = self._loop.time()
        params, log_floor, declared = hop.params, 0, None
        if self._is_legacy:
            if self._crosses:
                _check_first(hop)
                params = without_envelope(hop.params)
                log_floor, declared = NOTHING, self._asker.envelope.capabilities
            elif self._levels.by_session:
                log_floor = self._levels.floor_of(self._asker)
        elif self._crosses:
            params = with_envelope(without_task(params), _speaker(self._asker, self._levels))
        call = Call(
            self._name, (), hop, -1, "tools/call", params, self._timeout_s, self._limit_key, self._is_legacy,
            log_floor, declared, False, False, listener,
        )  # fmt: skip
        link.begin(call)
        return call


def _check_first(hop: Hop) -> None:
    """A modern client's request to a legacy server: what only a retry carries is nobody's here."""
    if read_retry(hop.params) is not None:
        raise CallerError(
            CALLER_REQUEST_STATE, "This requestState was not made by this gateway", hint=CALL_ANEW
        )
    hop.params = first_params(hop.params)


def _speaker(asker: Asker, levels: LogLevels) -> Envelope:
    """Whose envelope a modern server gets."""
    if asker.envelope.era is Era.MODERN:
        return asker.envelope
    session = asker.session
    return replace(session.envelope, log_level=levels.by_session.get(session.session_id))


def _restore_subscription(said: Said, rpc_id: bytes) -> Said:
    if isinstance(said, Notice) and subscription_of(said.params) is not None:
        return Notice(said.method, with_subscription(said.params, rpc_id))
    return said
