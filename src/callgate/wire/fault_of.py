"""The first of the three mappings: an error of ours as a JSON-RPC error object."""

from typing import Any

from callgate.model.error_codes import BUG_INTERNAL, INTERNAL_ERROR
from callgate.model.errors import CallgateError
from callgate.model.reply import RpcFault


def fault_of(error: CallgateError) -> RpcFault:
    data: dict[str, Any] = {"code": error.code.code, **error.data}
    if error.hint:
        data["hint"] = error.hint
    return RpcFault(error.code.rpc_code, error.message, data)


# What a client is told of a bug: no message of the exception, which may quote anything.
BUG_FAULT = RpcFault(INTERNAL_ERROR, BUG_INTERNAL.summary, {"code": BUG_INTERNAL.code})
