"""The questions a client was asked on behalf of a server, until it answers."""

from collections import OrderedDict

from callgate.model.reply import Answer, Asking, Withdrawn
from callgate.wire.json_rpc import Response, encode_notification, encode_request
from callgate.wire.params import with_member

# Past this many unanswered questions a client is not listening; the oldest are given up.
_MAX_OPEN = 1000


class Questions:
    def __init__(self) -> None:
        self._last = 0
        self._open: OrderedDict[bytes, Asking] = OrderedDict()

    def put(self, question: Asking) -> bytes:
        """The frame that asks it."""
        self._last += 1
        # A string no client would choose for itself: ids of the two directions must not be mixed up in logs.
        rpc_id = b'"callgate-%d"' % self._last
        self._open[rpc_id] = question
        while len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)
        return encode_request(rpc_id, question.method, question.params)

    def withdraw(self, withdrawn: Withdrawn) -> bytes | None:
        """The frame that takes it back; None when it was answered already."""
        for rpc_id, question in self._open.items():
            if question is withdrawn.question:
                del self._open[rpc_id]
                params = with_member(withdrawn.params, "requestId", rpc_id)
                return encode_notification("notifications/cancelled", params)
        return None

    def answered(self, response: Response) -> None:
        """An answer to a question nobody put is ignored: it may be late, or made up."""
        question = self._open.pop(response.rpc_id, None)
        if question is not None:
            question.respond(Answer(response.result, response.error))
