"""How a reply is to be remembered: the outcome, who ended it, and the code."""

import msgspec

from callgate.model.error_codes import BUG_INTERNAL
from callgate.model.errors import CallerError, CallgateError, RefusedError
from callgate.model.exchange import Arrival, EndedBy, Outcome, Settlement
from callgate.model.reply import Reply
from callgate.relay.hops import MAX_ERROR_CHARS
from callgate.wire.eras.faults import fault_in
from callgate.wire.fault_of import BUG_FAULT, fault_of
from callgate.wire.json_rpc import encode_error_object, read_if_readable
from callgate.wire.revisions import META_CODE


class _Text(msgspec.Struct):
    text: str = ""


class _ToolResult(msgspec.Struct):
    isError: bool = False  # noqa: N815 - the protocol's own spelling
    meta: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict[str, msgspec.Raw], name="_meta")
    content: list[_Text] = msgspec.field(default_factory=list[_Text])


_tool_result_decoder = msgspec.json.Decoder(_ToolResult)
_ANSWERED = Outcome.ANSWERED  # Python 3.11 needs 0.1 µs to find a member of an enumeration

CANCELLED = Settlement(Outcome.CANCELLED, EndedBy.CLIENT)
CUT_OFF = Settlement(Outcome.CANCELLED, EndedBy.GATEWAY, error="The gateway was stopped")


def of_reply(reply: Reply, method: str, ended_by: EndedBy, is_ours: bool) -> Settlement:
    """`is_ours`: it comes from the built-in server, whose codes are ours; anybody else's could be made up."""
    if reply.fault is not None:
        return Settlement(
            Outcome.FAILED,
            ended_by,
            reply=encode_error_object(reply.fault),
            error=reply.fault.message[:MAX_ERROR_CHARS],
        )
    result = reply.result
    # Only what says so somewhere can be an error: the others need not be read. The last brace is that of the
    # result itself, so what stands before it is the result's own member, and of two with one name the last
    # counts. Our SQL answers end like this: a search of 25 KB would take 30 µs.
    if (
        method == "tools/call"
        and result is not None
        and not result.endswith(b'"isError":false}')
        and result.find(b'"isError"') >= 0  # `in` takes twice as long
        and result.find(b"true") >= 0
    ):
        return _of_tool_result(result, ended_by, is_ours)
    return Settlement(_ANSWERED, ended_by, result)


def _of_tool_result(result: bytes, ended_by: EndedBy, is_ours: bool) -> Settlement:
    parsed = read_if_readable(_tool_result_decoder, result)
    # Of another shape than we know: it is the client's to judge, we only passed it on.
    if parsed is None or not parsed.isError:
        return Settlement(_ANSWERED, ended_by, result)
    raw_code = bytes(parsed.meta.get(META_CODE, b"")) if is_ours else b""
    code = msgspec.json.decode(raw_code, type=str) if raw_code[:1] == b'"' else None
    refused = code is not None and code.startswith("refused.")
    return Settlement(
        Outcome.REFUSED if refused else Outcome.TOOL_ERROR,
        EndedBy.GATEWAY if refused else ended_by,
        reply=result,
        error_code=code,
        error="\n".join(part.text for part in parsed.content)[:MAX_ERROR_CHARS],
    )


def of_error(error: CallgateError, arrival: Arrival) -> tuple[Reply, Settlement]:
    fault = fault_in(fault_of(error), arrival.envelope.era, arrival.method)
    ours = isinstance(error, (CallerError, RefusedError))
    settlement = Settlement(
        Outcome.REFUSED if isinstance(error, RefusedError) else Outcome.FAILED,
        EndedBy.GATEWAY if ours else EndedBy.UPSTREAM,
        reply=encode_error_object(fault),
        error_code=error.code.code,
        error=error.message,
    )
    return Reply(fault=fault), settlement


def of_bug() -> tuple[Reply, Settlement]:
    settlement = Settlement(
        Outcome.FAILED,
        EndedBy.GATEWAY,
        reply=encode_error_object(BUG_FAULT),
        error_code=BUG_INTERNAL.code,
        error=BUG_INTERNAL.summary,
    )
    return Reply(fault=BUG_FAULT), settlement
