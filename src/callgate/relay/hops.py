"""One leg of an exchange, from its start to its end, whatever the end is."""

import asyncio
import time
from collections.abc import Awaitable, Callable

from callgate.model.clip import clip
from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Reply

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
