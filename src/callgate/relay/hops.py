"""One leg of an exchange, from its start to its end, whatever the end is."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from callgate.model.envelope import Era
from callgate.model.errors import CallgateError
from callgate.model.exchange import Exchange, Hop
from callgate.model.reply import Reply
from callgate.model.wording import clip
from callgate.wire.eras.faults import fault_in
from callgate.wire.eras.result_shape import to_modern, without_other_era
from callgate.wire.revisions import MODERN_REVISIONS

# Of a server's own words, for the record; the client gets them whole.
MAX_ERROR_CHARS = 2_000


async def run_hop(hop: Hop, ask: Callable[[], Awaitable[Reply]]) -> Reply:
    """`ask`: asks the upstream on this leg."""
    try:
        reply = await ask()
    except CallgateError as error:
        hop.error = error.message
        raise
    except asyncio.CancelledError:
        hop.error = "cancelled"
        raise
    else:
        hop.result = reply.result
        hop.error = clip(reply.fault.message, MAX_ERROR_CHARS) if reply.fault else None
        return reply
    finally:
        hop.ended_mono = time.monotonic()


def reply_in_era(reply: Reply, exchange: Exchange) -> Reply:
    """The answer as a client of its era expects it, whichever upstream gave it. The tools in a list are each
    for `tools_across`."""
    arrival = exchange.arrival
    era, is_modern = arrival.envelope.era, arrival.envelope.era is Era.MODERN
    has_crossed = crosses_eras(exchange)
    if reply.fault is not None:
        return Reply(fault=fault_in(reply.fault, era, arrival.method)) if has_crossed else reply
    if reply.result is None or not (has_crossed or is_modern):
        return reply
    result = reply.result
    if has_crossed:
        result = without_other_era(result, arrival.method, era)
    if is_modern:
        result = to_modern(result, arrival.method)
    return Reply(result=result, opened=reply.opened)


def crosses_eras(exchange: Exchange) -> bool:
    """Whether a server of the other era than the client's was asked."""
    is_modern = exchange.arrival.envelope.era is Era.MODERN
    for hop in exchange.hops:
        revision = hop.server_protocol
        if revision is not None and (revision in MODERN_REVISIONS) is not is_modern:
            return True
    return False
