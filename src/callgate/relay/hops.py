"""One leg of an exchange, from its start to its end, whatever the end is."""

import asyncio
import time
from collections.abc import AsyncGenerator

from callgate.model.clip import clip
from callgate.model.errors import CallgateError
from callgate.model.exchange import Hop
from callgate.model.reply import Item, Reply

# Of a server's own words, for the record; the client gets them whole.
MAX_ERROR_CHARS = 2_000


async def run_hop(hop: Hop, asked: AsyncGenerator[Item]) -> AsyncGenerator[Item]:
    """`asked`: what the upstream answers on this leg."""
    try:
        try:  # as `aclosing`, which would cost as much as the rest of this
            async for item in asked:
                if isinstance(item, Reply):
                    hop.result = item.result
                    hop.error = clip(item.fault.message, MAX_ERROR_CHARS) if item.fault else None
                yield item
        finally:
            await asked.aclose()
    except CallgateError as error:
        hop.error = error.message
        raise
    except (asyncio.CancelledError, GeneratorExit):
        if hop.result is None and hop.error is None:
            hop.error = "cancelled"
        raise
    finally:
        hop.ended_mono = time.monotonic()
