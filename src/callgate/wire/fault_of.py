"""The first of the three mappings: an error of ours as a JSON-RPC error object."""

from typing import Any

import msgspec

from callgate.model.error_codes import BUG_INTERNAL, INTERNAL_ERROR
from callgate.model.errors import CallgateError
from callgate.model.reply import RpcFault
from callgate.wire.json_rpc import read_if_readable


def fault_of(error: CallgateError) -> RpcFault:
    data: dict[str, Any] = {"code": error.code.code, **error.data}
    if error.hint:
        data["hint"] = error.hint
    return RpcFault(error.code.rpc_code, error.message, data)


class _Said(msgspec.Struct):
    code: int = INTERNAL_ERROR
    message: str = "The server answered with an invalid error"


_said_decoder = msgspec.json.Decoder(_Said)


def read_fault(error: bytes) -> RpcFault:
    """An upstream's error as it came; its code and message are read only for our own books."""
    said = read_if_readable(_said_decoder, error) or _Said()
    return RpcFault(said.code, said.message, raw=error if error[:1] == b"{" else None)


# What a client is told of a bug: no message of the exception, which may quote anything.
BUG_FAULT = RpcFault(INTERNAL_ERROR, BUG_INTERNAL.summary, {"code": BUG_INTERNAL.code})
