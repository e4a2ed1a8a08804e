"""The JSON-RPC 2.0 envelope: read just enough to route, leave the rest as it came.

A message is one of four closed types. `rpc_id`, `params`, `result` and `error` stay raw JSON: an id goes back
in the type and digits it came in, and a field invented next year passes through. (Typed models cost 35 µs a
message and drop unknown fields; this costs about 1 µs.)
"""

from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypeVar

import msgspec

from callgate.model.error_codes import CALLER_BAD_JSON, CALLER_MALFORMED, CALLER_TOO_LARGE
from callgate.model.errors import CallerError
from callgate.model.reply import Reply, RpcFault

# An id is kept while its request is open, and repeated in every answer and in the record.
MAX_ID_BYTES = 1024
MAX_BATCH = 100
# What msgspec raises for what it cannot read: not JSON, not the shape that was asked for, nested too deeply.
# Whether the last happens depends on how deep the stack is already, so whoever reads again may be the first.
NOT_READABLE = (msgspec.DecodeError, RecursionError)
_Shape = TypeVar("_Shape")


def read_if_readable(decoder: msgspec.json.Decoder[_Shape], raw: bytes | msgspec.Raw) -> _Shape | None:
    """None: it is not readable, or not in that shape."""
    try:
        return decoder.decode(raw)
    except NOT_READABLE:
        return None


class Request(msgspec.Struct, frozen=True, gc=False):
    rpc_id: bytes
    method: str
    params: bytes


class Notification(msgspec.Struct, frozen=True, gc=False):
    method: str
    params: bytes


class Response(msgspec.Struct, frozen=True, gc=False):
    rpc_id: bytes
    result: bytes | None
    error: bytes | None


@dataclass(frozen=True, slots=True)
class Unreadable:
    """Not a message we can act on; the id is there when it could still be made out."""

    rpc_id: bytes | None
    error: CallerError


Message = Request | Notification | Response


class _Frame(msgspec.Struct, gc=False):
    jsonrpc: msgspec.Raw = msgspec.Raw()
    id: msgspec.Raw = msgspec.Raw()
    method: msgspec.Raw = msgspec.Raw()
    params: msgspec.Raw = msgspec.Raw()
    result: msgspec.Raw = msgspec.Raw()
    error: msgspec.Raw = msgspec.Raw()


class _ToolCall(msgspec.Struct, gc=False):
    """A number is written as it was read: it has no sign, fraction or exponent."""

    jsonrpc: Literal["2.0"]
    id: Annotated[int, msgspec.Meta(gt=0, le=2**63 - 1)]
    method: Literal["tools/call"]
    params: msgspec.Raw


class Result(msgspec.Struct, gc=False, forbid_unknown_fields=True):
    """A response that holds nothing but a result, to a request of ours."""

    jsonrpc: Literal["2.0"]
    id: int
    result: msgspec.Raw


_frame_decoder = msgspec.json.Decoder(_Frame)
_decode_tool_call = msgspec.json.Decoder(_ToolCall).decode
_decode_result = msgspec.json.Decoder(Result).decode
# As many members as a batch may have, and no more: with a list, all of ten million would be made objects
# before anybody could count them.
_Batch = msgspec.defstruct(
    "_Batch",
    [(f"message_{number}", msgspec.Raw, msgspec.Raw()) for number in range(MAX_BATCH)],
    array_like=True,
    forbid_unknown_fields=True,
)
_batch_decoder = msgspec.json.Decoder(_Batch)
_text_decoder = msgspec.json.Decoder(str)
_encode = msgspec.json.encode
_VERSION = msgspec.Raw(b'"2.0"')


def decode(frame: bytes) -> Message | Unreadable:
    # msgspec does not look inside what it leaves raw; an upstream must never get what is not UTF-8.
    if not frame.isascii():
        try:
            frame.decode()
        except UnicodeDecodeError:
            return Unreadable(None, CallerError(CALLER_BAD_JSON, "The message is not UTF-8"))
    try:
        parsed = _frame_decoder.decode(frame)
    except msgspec.ValidationError:
        what = "a JSON array" if frame.lstrip()[:1] == b"[" else "not a JSON object"
        return Unreadable(None, _malformed(f"The message is {what}; send one JSON-RPC object"))
    except NOT_READABLE as problem:
        return Unreadable(None, CallerError(CALLER_BAD_JSON, f"The message is not valid JSON: {problem}"))
    return _classify(parsed)


def decode_call(frame: bytes) -> Message | Unreadable:
    """As `decode`, in half the time for what clients mostly send: `tools/call` with a number as its id."""
    try:
        if not frame.isascii():
            frame.decode()
        read = _decode_tool_call(frame)
    except (UnicodeDecodeError, *NOT_READABLE):
        return decode(frame)
    params = bytes(read.params)
    return Request(b"%d" % read.id, "tools/call", params) if params[:1] == b"{" else decode(frame)


def result_in(frame: bytes) -> Result | None:
    """As `decode`, for nearly all that servers send: a result, an object. None: `decode` it."""
    if frame.find(b'"result"') < 0:  # `in` takes twice as long
        return None
    try:
        if not frame.isascii():
            frame.decode()
        return _decode_result(frame)
    except (UnicodeDecodeError, *NOT_READABLE):
        return None


def decode_batch(frame: bytes) -> list[Message | Unreadable]:
    """The messages of a JSON array; none of them when it is not one. Raises CallerError for too many."""
    try:
        parts = msgspec.structs.astuple(_batch_decoder.decode(frame))
    except msgspec.ValidationError as problem:
        text = f"A batch may have at most {MAX_BATCH} messages"
        raise CallerError(CALLER_TOO_LARGE, text, hint="Send them in several batches") from problem
    except NOT_READABLE:
        return []
    return [decode(bytes(part)) for part in parts if part]


def _classify(parsed: _Frame) -> Message | Unreadable:
    rpc_id = bytes(parsed.id)
    # MCP allows strings and integers, never null (2026-07-28, basic, "Requests").
    is_id = rpc_id[:1] == b'"' or rpc_id.removeprefix(b"-").isdigit()
    readable_id = rpc_id if is_id and len(rpc_id) <= MAX_ID_BYTES else None
    if (
        parsed.jsonrpc != _VERSION and read_if_readable(_text_decoder, parsed.jsonrpc) != "2.0"
    ):  # with escapes
        return Unreadable(readable_id, _malformed('The member "jsonrpc" must be "2.0"'))
    if rpc_id and readable_id is None:
        text = f'The member "id" must be a string or an integer of at most {MAX_ID_BYTES} bytes'
        return Unreadable(None, _malformed(text))
    if parsed.method:
        return _classify_call(readable_id, parsed.method, bytes(parsed.params))
    result, error = bytes(parsed.result), bytes(parsed.error)
    if result and error == b"null":
        error = b""  # JSON-RPC 1.0's way of saying that there is none; servers still write it
    if readable_id is not None and bool(result) != bool(error):
        return Response(readable_id, result or None, error or None)
    return Unreadable(
        readable_id, _malformed("The message is neither a request, a notification nor a response")
    )


def _classify_call(rpc_id: bytes | None, method: msgspec.Raw, params: bytes) -> Message | Unreadable:
    name = read_if_readable(_text_decoder, method)
    if name is None:
        return Unreadable(rpc_id, _malformed('The member "method" must be a string'))
    if params and params[:1] != b"{":
        return Unreadable(rpc_id, _malformed('The member "params" must be an object'))
    return Notification(name, params) if rpc_id is None else Request(rpc_id, name, params)


def _malformed(message: str) -> CallerError:
    return CallerError(CALLER_MALFORMED, message)


def encode_request(rpc_id: bytes, method: str, params: bytes) -> bytes:
    if not params:
        return b'{"jsonrpc":"2.0","id":%b,"method":%b}' % (rpc_id, _encode(method))
    return b'{"jsonrpc":"2.0","id":%b,"method":%b,"params":%b}' % (rpc_id, _encode(method), params)


def encode_notification(method: str, params: bytes) -> bytes:
    member = b',"params":' + params if params else b""
    return b'{"jsonrpc":"2.0","method":%b%b}' % (_encode(method), member)


def encode_fault(rpc_id: bytes | None, fault: RpcFault) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (rpc_id or b"null", encode_error_object(fault))


def encode_reply(rpc_id: bytes, reply: Reply) -> bytes:
    if reply.fault is not None:
        return encode_fault(rpc_id, reply.fault)
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (rpc_id, reply.result or b"{}")


def encode_error_object(fault: RpcFault) -> bytes:
    if fault.raw is not None:
        return fault.raw
    error: dict[str, Any] = {"code": fault.code, "message": fault.message}
    if fault.data is not None:
        error["data"] = fault.data
    return _encode(error)
