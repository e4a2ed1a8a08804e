"""The questions a server put to its client (sampling, elicitation, roots), until answered or withdrawn.

Owns who may be asked what: exactly what the client of this link declared. A shared link declared nothing.
"""

from collections.abc import Callable

from callgate.model.envelope import Envelope
from callgate.model.reply import Answer, Asking
from callgate.upstreams.link.call import Call
from callgate.wire.connection.events import AskedBack
from callgate.wire.eras.capabilities import lacks
from callgate.wire.params import peek

TOO_MANY = Answer(error=b'{"code":-32603,"message":"Too many questions are open"}')
NOT_DECLARED = Answer(error=b'{"code":-32601,"message":"The client did not declare that it answers this"}')
# A person answers one after the other; a server that asks more than this at once is not asking.
_MAX_OPEN = 1000


class ServerQuestions:
    def __init__(self, client: Envelope | None) -> None:
        self._client = client
        self._open: dict[bytes, tuple[Asking, Call | None]] = {}  # by the server's own id
        self._timers: dict[bytes, Callable[[], None]] = {}  # what stops the clock of each

    @property
    def is_full(self) -> bool:
        return len(self._open) >= _MAX_OPEN

    def lacks(self, method: str, params: bytes) -> bytes | None:
        """The capability that this question needs and nobody here declared; None when it may be put."""
        if self._client is None:
            return lacks(b"{}", method, params) or b"{}"
        return lacks(self._client.capabilities, method, params)

    def put(self, asked: AskedBack, call: Call | None, answered: Callable[[Answer], None]) -> Asking:
        """The question as the client's side gets it; `answered` is called at most once."""

        def respond(answer: Answer) -> None:
            if self._pop(asked.rpc_id) is not None:
                answered(answer)

        question = Asking(asked.method, asked.params, respond)
        self._open[asked.rpc_id] = (question, call)
        return question

    def limit(self, rpc_id: bytes, stop_clock: Callable[[], None]) -> None:
        """The clock that runs for this question is stopped when it is over."""
        if rpc_id in self._open:
            self._timers[rpc_id] = stop_clock

    def take_back(self, params: bytes) -> tuple[Asking, Call | None] | None:
        """What a server's `notifications/cancelled` withdraws; None when it is no question of its own."""
        return self._pop(bytes(peek(params).requestId))

    def _pop(self, rpc_id: bytes) -> tuple[Asking, Call | None] | None:
        stop_clock = self._timers.pop(rpc_id, None)
        if stop_clock is not None:
            stop_clock()
        return self._open.pop(rpc_id, None)

    def is_open(self, rpc_id: bytes, question: Asking) -> bool:
        return self._open.get(rpc_id, (None, None))[0] is question

    def is_asked(self, call: Call) -> bool:
        """Whether it waits for an answer already."""
        return any(waiting is call for _, waiting in self._open.values())

    def forget_all(self) -> None:
        """The connection they were put on is gone: an answer would reach nobody."""
        for rpc_id in list(self._open):
            self._pop(rpc_id)
