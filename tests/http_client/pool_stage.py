"""A pool of connections in front of a scripted server."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from http_client.collecting_exchange import CollectingExchange, request
from upstreams.http_servers.scripted_http import (
    Script,
    ScriptedHttp,
    Seen,
    Wire,
    scripted_http,
)

from callgate.http_client.address import parse_address
from callgate.http_client.client import HttpClient
from callgate.http_client.pool import HttpPool, PoolLimits
from callgate.model.errors import UpstreamError


async def echo(seen: Seen, wire: Wire) -> None:
    await wire.answer(200, seen.body)


@asynccontextmanager
async def pool_to(
    script: Script, limits: PoolLimits | None = None
) -> AsyncIterator[tuple[ScriptedHttp, HttpPool]]:
    async with scripted_http(script) as server:
        client = HttpClient(limits=limits or PoolLimits())
        try:
            yield server, client.pool_for(parse_address(server.url).origin)
        finally:
            await client.close()


async def failure_of(exchange: CollectingExchange) -> UpstreamError:
    with pytest.raises(UpstreamError) as caught:
        await exchange.end()
    return caught.value


async def ask(pool: HttpPool, body: bytes = b"hello", *, repeatable: bool = False) -> CollectingExchange:
    exchange = CollectingExchange(request(body=body), repeatable=repeatable)
    pool.send(exchange)
    return await exchange.end()
