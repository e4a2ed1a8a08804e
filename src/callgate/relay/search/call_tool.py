"""`call_tool`: calls by its name what `find_tools` found, for clients that call only what is listed.

The call is the tool's own from here on: it is judged, routed, recorded and answered as if the client had
named the tool itself, and the record says that it came through here. Counterpart: `find_tools`.
"""

from typing import Any, Final

import msgspec

from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.model.exchange import Exchange
from callgate.model.offers import Offer, OfferKind, Route
from callgate.wire.json_rpc import NOT_READABLE
from callgate.wire.params import with_member

NAME: Final = "call_tool"
# What the tool does is not known before it is named: these are the specification's defaults, said aloud.
_ANNOTATIONS: dict[str, Any] = {
    "title": "Call a tool",
    "readOnlyHint": False,
    "destructiveHint": True,
    "idempotentHint": False,
    "openWorldHint": True,
}
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "title": NAME,
    "properties": {
        "name": {"type": "string", "description": "The tool's name, as find_tools gave it."},
        "arguments": {
            "type": "object",
            "description": "The tool's own arguments.",
            "additionalProperties": True,
            "default": {},
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}


def own_tool(name: str, description: str, schema: dict[str, Any], annotations: dict[str, Any]) -> Offer:
    """A tool of the gateway's own."""
    definition = {
        "name": name,
        "title": annotations["title"],
        "description": description,
        "inputSchema": schema,
        "annotations": annotations,
    }
    encode = msgspec.json.encode
    return Offer(OfferKind.TOOL, name, Route("", name), encode(definition), encode(annotations))


OFFER: Final = own_tool(
    NAME,
    "Calls one tool of this server by its name and answers as that tool does. Use it for tools that are not "
    "listed: find_tools says their names and what arguments they take.",
    _SCHEMA,
    _ANNOTATIONS,
)
_HINT = 'Write {"name": "<server>__<tool>", "arguments": {…}}: the tool\'s own arguments go into "arguments"'


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: msgspec.Raw = msgspec.Raw(b"{}")


class _Params(msgspec.Struct):
    arguments: _Arguments


_params_decoder = msgspec.json.Decoder(_Params)


def unwrap(exchange: Exchange, own_names: tuple[str, ...]) -> None:
    """Makes the exchange a call of the tool that is named. Raises CallerError; the exchange is then still
    one of `call_tool`.

    `own_names`: the gateway's own tools, which are listed and called by their own names.
    """
    arrival = exchange.arrival
    exchange.tool_name = NAME
    try:
        called = _params_decoder.decode(arrival.params).arguments
    except NOT_READABLE as problem:
        raise _wrong(str(problem)) from problem
    arguments = bytes(called.arguments)
    if arguments[:1] != b"{":
        raise _wrong("`arguments` must be an object")
    if called.name in own_names:
        raise _wrong(f"{called.name} is a listed tool: call it directly, by its own name")
    params = with_member(arrival.params, "name", msgspec.json.encode(called.name))
    exchange.arrival = msgspec.structs.replace(arrival, params=with_member(params, "arguments", arguments))
    exchange.tool_name, exchange.via = None, NAME


def _wrong(what: str) -> CallerError:
    return CallerError(CALLER_BAD_ARGUMENTS, f"{NAME}: {what}"[:300], hint=_HINT)
