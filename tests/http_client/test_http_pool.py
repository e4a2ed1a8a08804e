"""Connections are kept, reused and limited; and nothing runs twice."""

import asyncio

from http_client.collecting_exchange import CollectingExchange, request
from http_client.pool_stage import ask, echo, failure_of, pool_to
from upstreams.http_servers.scripted_http import (
    Seen,
    Wire,
    wait_for_hang_up,
)

from callgate.http_client.pool import PoolLimits

# ---- keeping connections


async def test_requests_one_after_another_share_one_connection() -> None:
    async with pool_to(echo) as (server, pool):
        bodies = [(await ask(pool, b"%d" % number)).body for number in range(50)]
        assert bodies == [b"%d" % number for number in range(50)]
        assert server.connections == 1


async def test_a_thousand_requests_at_once_are_all_answered_with_their_own_answer() -> None:
    async with pool_to(echo) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"%d" % number)) for number in range(1000)]
        for exchange in exchanges:
            pool.send(exchange)
        bodies = [(await exchange.end()).body for exchange in exchanges]
        assert bodies == [b"%d" % number for number in range(1000)]
        assert server.connections <= PoolLimits().max_connections


async def test_past_the_limit_of_connections_requests_wait_their_turn() -> None:
    async with pool_to(echo, PoolLimits(max_connections=2)) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"%d" % number)) for number in range(20)]
        for exchange in exchanges:
            pool.send(exchange)
        assert len(pool.line) == 20
        assert [(await exchange.end()).body for exchange in exchanges] == [b"%d" % n for n in range(20)]
        assert server.connections == 2


async def test_an_urgent_request_passes_the_limit_and_the_line() -> None:
    async def silent_unless_urgent(seen: Seen, wire: Wire) -> None:
        if seen.body != b"urgent":
            await wait_for_hang_up(wire)
        await echo(seen, wire)

    async with pool_to(silent_unless_urgent, PoolLimits(max_connections=1)) as (_, pool):
        stuck, waiting = CollectingExchange(request()), CollectingExchange(request())
        pool.send(stuck)
        pool.send(waiting)
        urgent = CollectingExchange(request(body=b"urgent"), is_urgent=True)
        pool.send(urgent)
        assert (await urgent.end()).body == b"urgent"


async def test_no_more_than_the_limit_of_idle_connections_is_kept() -> None:
    everyone_is_here = asyncio.Event()
    limits = PoolLimits(max_idle=3)

    async def together(seen: Seen, wire: Wire) -> None:
        await everyone_is_here.wait()
        await echo(seen, wire)

    async with pool_to(together, limits) as (server, pool):
        exchanges = [CollectingExchange(request(body=b"x")) for _ in range(10)]
        for exchange in exchanges:
            pool.send(exchange)
        await server.until(lambda: len(server.requests) == 10)
        everyone_is_here.set()
        for exchange in exchanges:
            await exchange.end()
        await server.until(lambda: server.open_now == 3)


async def test_an_idle_connection_grows_old_and_is_closed() -> None:
    async with pool_to(echo, PoolLimits(max_idle_s=0.05)) as (server, pool):
        await ask(pool)
        await server.until(lambda: server.open_now == 0)
        await ask(pool)
        assert server.connections == 2


async def test_idle_connections_that_calls_may_not_use_any_more_make_room_for_fresh_ones() -> None:
    async with pool_to(echo, PoolLimits(max_idle=1, max_idle_unrepeatable_s=0.2)) as (server, pool):
        await ask(pool)
        await asyncio.sleep(0.3)
        for _ in range(20):
            await ask(pool)
        assert server.connections < 12, "each call opened one"


async def test_a_connection_is_not_used_again_when_the_server_says_close() -> None:
    async def closing(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, seen.body, Connection="close")

    async with pool_to(closing) as (server, pool):
        await ask(pool)
        await ask(pool)
        assert server.connections == 2


async def test_bytes_after_the_end_of_an_answer_never_become_the_next_answer() -> None:
    async def two_for_one(seen: Seen, wire: Wire) -> None:
        forged = b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nforged"
        await wire.raw(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\ntrue" + forged)

    async with pool_to(two_for_one) as (server, pool):
        assert (await ask(pool)).body == b"true"
        assert (await ask(pool)).body == b"true"
        assert server.connections == 2


async def test_the_servers_own_keep_alive_time_is_respected() -> None:
    async def short_lived(seen: Seen, wire: Wire) -> None:
        await wire.answer(200, seen.body, Keep_Alive="timeout=1, max=100")

    async with pool_to(short_lived) as (server, pool):
        await ask(pool)  # one second, of which one is left for the way: not worth a reuse
        await ask(pool, repeatable=True)
        assert server.connections == 2


# ---- never twice


async def dies_on_the_second(seen: Seen, wire: Wire) -> None:
    """Answers the first request of the first connection, takes the second and closes without a byte."""
    if seen.connection == 1 and seen.body == b"second":
        wire.hang_up()
        raise ConnectionError
    await echo(seen, wire)


async def test_a_repeatable_request_is_sent_again_when_a_kept_connection_was_dead() -> None:
    async with pool_to(dies_on_the_second) as (server, pool):
        await ask(pool, b"first")
        assert (await ask(pool, b"second", repeatable=True)).body == b"second"
        assert [seen.connection for seen in server.requests] == [1, 1, 2]


async def test_an_unrepeatable_request_is_never_sent_again() -> None:
    async with pool_to(dies_on_the_second) as (server, pool):
        await ask(pool, b"first")
        exchange = CollectingExchange(request(body=b"second"))
        pool.send(exchange)
        error = await failure_of(exchange)
        assert error.code.code == "upstream.unavailable"
        assert "without an answer" in error.message
        assert "not sent again" in error.hint
        assert [seen.body for seen in server.requests] == [b"first", b"second"]


async def test_a_repeatable_request_is_sent_again_only_once() -> None:
    async def dies_always(seen: Seen, wire: Wire) -> None:
        if seen.body == b"second":
            wire.reset()
            raise ConnectionError
        await echo(seen, wire)

    async with pool_to(dies_always) as (server, pool):
        await ask(pool, b"first")
        exchange = CollectingExchange(request(body=b"second"), repeatable=True)
        pool.send(exchange)
        await failure_of(exchange)
        assert [seen.body for seen in server.requests] == [b"first", b"second", b"second"]


async def test_a_new_connection_that_dies_is_no_reason_to_send_again() -> None:
    async def dies(seen: Seen, wire: Wire) -> None:
        wire.hang_up()
        raise ConnectionError

    async with pool_to(dies) as (server, pool):
        exchange = CollectingExchange(request(), repeatable=True)
        pool.send(exchange)
        await failure_of(exchange)
        assert len(server.requests) == 1


async def test_a_connection_the_server_closed_while_idle_is_not_used() -> None:
    async def one_each(seen: Seen, wire: Wire) -> None:
        await echo(seen, wire)
        wire.hang_up()
        raise ConnectionError

    async with pool_to(one_each) as (server, pool):
        await ask(pool, b"first")
        await server.until(lambda: server.open_now == 0)
        while pool.open_connections:  # until the loop has seen the end that the server sent
            await asyncio.sleep(0)
        assert (await ask(pool, b"second")).body == b"second"
        assert [seen.body for seen in server.requests] == [b"first", b"second"]


async def test_an_unrepeatable_request_takes_no_connection_that_was_idle_for_long() -> None:
    async with pool_to(echo, PoolLimits(max_idle_unrepeatable_s=0.0)) as (server, pool):
        await ask(pool)
        await ask(pool, repeatable=True)
        assert server.connections == 1
        await ask(pool)
        assert server.connections == 2
