"""`find_tools`: with `[server] tool_search = true` the one tool that `/mcp` lists, for catalogues that would
fill a context. What it finds is called by its name, like any tool; nothing is hidden, only not listed.
"""

from typing import Annotated, Any, Final

import msgspec
from msgspec import Meta

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS
from callgate.model.errors import CallerError
from callgate.model.exchange import Exchange
from callgate.model.offers import Kind, Offer, Route
from callgate.model.reply import Reply
from callgate.ports.upstream import Asker
from callgate.relay.catalog import Catalog
from callgate.relay.listings import Listings
from callgate.relay.offered import Offered
from callgate.wire.result_shape import to_modern

NAME: Final = "find_tools"
_ANNOTATIONS = {
    "title": "Find tools",
    "readOnlyHint": True,
    "destructiveHint": False,
    "idempotentHint": True,
    "openWorldHint": False,
}


class _Arguments(msgspec.Struct, forbid_unknown_fields=True):
    query: Annotated[
        str, Meta(min_length=1, max_length=500, description="What the tool should do, in words.")
    ]
    limit: Annotated[int, Meta(ge=1, le=50, description="How many, at most.")] = 10


class _Params(msgspec.Struct):
    arguments: _Arguments


_DEFINITION = msgspec.json.encode(
    {
        "name": NAME,
        "title": "Find tools",
        "description": "Finds the tools that fit a few words, the best first, with their whole definitions. "
        "The other tools of this server are not listed: find them here, then call them by their name.",
        "inputSchema": {**msgspec.json.schema_components([_Arguments])[1]["_Arguments"], "title": NAME},
        "annotations": _ANNOTATIONS,
    }
)


class ToolSearch:
    def __init__(self, listings: Listings, offered: Offered) -> None:
        self._listings = listings
        self._offered = offered
        own = Offer(Kind.TOOL, NAME, Route("", NAME), _DEFINITION)
        self.catalog = Catalog((own,))

    async def answer(self, exchange: Exchange, asker: Asker) -> Reply:
        exchange.tool_name, exchange.annotations = NAME, msgspec.json.encode(_ANNOTATIONS)
        try:
            arguments = msgspec.json.decode(exchange.arrival.params, type=_Params).arguments
        except msgspec.DecodeError as problem:
            raise CallerError(CALLER_BAD_ARGUMENTS, f"{NAME}: {problem}"[:300]) from problem
        catalog = await self._listings.known(Kind.TOOL, asker)
        found = await self._offered.find_in(catalog.offers, arguments.query, arguments.limit)
        era = exchange.arrival.envelope.era
        result = _result(found, len(catalog.offers), era)
        return Reply(result=to_modern(result, exchange.arrival.method) if era is Era.MODERN else result)


def _result(found: list[Offer], total: int, era: Era) -> bytes:
    definitions = [msgspec.Raw(offer.definition_in(era)) for offer in found]
    told = (
        msgspec.json.encode(definitions).decode() if found else f"None of the {total} tools fits these words."
    )
    structured: dict[str, Any] = {"tools": definitions, "total": total}
    return msgspec.json.encode(
        {"content": [{"type": "text", "text": told}], "structuredContent": structured, "isError": False}
    )
