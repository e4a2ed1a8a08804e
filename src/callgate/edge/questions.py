"""What a client is told on behalf of a server, and the questions it was asked, until it answers."""

from collections import OrderedDict

from callgate.model.reply import Answer, Asking, Notice, Unsolicited, Withdrawn
from callgate.wire.json_rpc import Response, encode_notification, encode_request
from callgate.wire.params import with_member

# Past this many unanswered questions a client is not listening; the oldest are given up.
_MAX_OPEN = 1000


class Questions:
    def __init__(self) -> None:
        self._last = 0
        self._open: OrderedDict[bytes, Asking] = OrderedDict()

    def frame(self, item: Unsolicited) -> bytes | None:
        """What tells the client this; None: it withdraws a question that was answered already."""
        match item:
            case Notice(method, params):
                return encode_notification(method, params)
            case Asking():
                return self._put(item)
            case Withdrawn():
                return self._withdraw(item)

    def _put(self, question: Asking) -> bytes:
        self._last += 1
        # A string no client would choose for itself: ids of the two directions must not be mixed up in logs.
        rpc_id = b'"callgate-%d"' % self._last
        self._open[rpc_id] = question
        while len(self._open) > _MAX_OPEN:
            self._open.popitem(last=False)
        return encode_request(rpc_id, question.method, question.params)

    def _withdraw(self, withdrawn: Withdrawn) -> bytes | None:
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
