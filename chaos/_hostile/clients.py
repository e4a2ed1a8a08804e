"""Hostile clients: what is no HTTP, too much HTTP, and too many connections."""

import asyncio
from contextlib import AsyncExitStack, suppress

from _hostile.attacker import (
    ECHO,
    HURT,
    ask,
    call,
    chunked_head,
    head,
    initialize,
    message,
    post,
    wire,
)
from _hostile.neighbour import FIRST_ID
from _hostile.scenario import Bound, Group, Scene
from _hostile.smuggling import LAST, TRICKS, Trick, allowed, outcome_of

CLIENTS = Group("clients")
_MIB = 1024 * 1024


@CLIENTS.scenario("smuggling corpus, whole and in pieces", has_token=False, in_short=True)
async def smuggle(scene: Scene) -> None:
    for trick in TRICKS:
        whole = await _outcome(scene, trick, in_pieces=False)
        scene.expect(whole in allowed(trick), f"{trick.name}: {whole}, should be {trick.outcome}")
        pieces = await _outcome(scene, trick, in_pieces=True)
        scene.expect(pieces == whole, f"{trick.name}: {whole} in one piece, {pieces} in many")


async def _outcome(scene: Scene, trick: Trick, *, in_pieces: bool) -> str:
    async with wire(scene.gateway) as one:
        reading = asyncio.create_task(one.answers())  # at once: what comes before a reset is lost otherwise
        if in_pieces and len(trick.data) < 5_000:
            await one.send_pieces(trick.data + LAST, scene.random)
        else:
            await one.send(trick.data + LAST)
        return outcome_of([answer.status for answer in await reading])


@CLIENTS.scenario("trailers in bulk, without a token", Bound(cpu_s=1.0, memory_mib=32))
async def trailers(scene: Scene) -> None:
    field = b"X-Trailer: " + b"y" * 200 + b"\r\n"
    await _flood_after(scene, chunked_head(ECHO, {}) + b"0\r\n", field * 500, scene.many(80 * _MIB))


@CLIENTS.scenario("trailers in bulk, with a token", Bound(cpu_s=1.0, memory_mib=32), in_short=True)
async def trailers_of_a_client(scene: Scene) -> None:
    begin = chunked_head(ECHO, scene.gateway.credentials) + b"2\r\n{}\r\n0\r\n"
    await _flood_after(scene, begin, b"X-Trailer: y\r\n" * 5_000, scene.many(80 * _MIB))


@CLIENTS.scenario("one trailer without an end", Bound(cpu_s=1.0, memory_mib=32))
async def endless_trailer(scene: Scene) -> None:
    begin = chunked_head(ECHO, scene.gateway.credentials) + b"2\r\n{}\r\n0\r\nX-Trailer: "
    await _flood_after(scene, begin, b"y" * 65536, scene.many(80 * _MIB))


@CLIENTS.scenario("a head without an end", Bound(cpu_s=1.0, memory_mib=32))
async def endless_head(scene: Scene) -> None:
    await _flood_after(
        scene, b"GET /x HTTP/1.1\r\nHost: localhost\r\n", b"X: y\r\n" * 10_000, scene.many(80 * _MIB)
    )
    await _flood_after(scene, b"GET /x HTTP/1.1\r\nX: ", b"y" * 65536, scene.many(80 * _MIB))
    await _flood_after(scene, b"GET /", b"y" * 65536, scene.many(80 * _MIB))


async def _flood_after(scene: Scene, begin: bytes, piece: bytes, size: int) -> None:
    """On three connections at once, until the gateway hangs up or all is sent."""

    async def flood() -> None:
        async with wire(scene.gateway) as one:
            reading = asyncio.create_task(one.answers())  # done when the gateway hung up, or half of it
            goes_on = await one.send(begin)
            sent = 0
            while goes_on and sent < size and not reading.done():
                goes_on = await one.send(piece)
                sent += len(piece)
            await reading
            scene.expect(sent < size, f"it took {sent:,} bytes and did not hang up")

    await asyncio.gather(*(flood() for _ in range(3)))


@CLIENTS.scenario("chunks of one byte, with extensions", Bound(cpu_s=4.0, memory_mib=32))
async def tiny_chunks(scene: Scene) -> None:
    async with wire(scene.gateway) as one:
        headers = await initialize(one, scene.gateway)
        await one.send(chunked_head(ECHO, headers))
        text = call("echo", {"text": "x" * scene.many(1_000_000)})
        for start in range(0, len(text), 5_000):
            part = text[start : start + 5_000]
            if not await one.send(b"".join(b"1;e=1\r\n%c\r\n" % byte for byte in part)):
                return
        await one.send(b"0\r\n\r\n")
        answer = await one.answer()
        scene.expect(answer is not None, "no answer")


@CLIENTS.scenario("pipelining without reading", Bound(cpu_s=6.0, memory_mib=32))
async def pipelining(scene: Scene) -> None:
    async with wire(scene.gateway) as one:
        headers = await initialize(one, scene.gateway)
        one.reader._limit = 1  # pyright: ignore[reportAttributeAccessIssue] # noqa: SLF001 - asyncio reads ahead otherwise
        one_call = post(ECHO, call("echo", {"text": "z" * 20_000}), headers)
        with suppress(TimeoutError):
            async with asyncio.timeout(3):
                for _ in range(scene.many(10_000)):
                    one.writer.write(one_call)
                    await one.writer.drain()


@CLIENTS.scenario("big answers that nobody reads", Bound(cpu_s=6.0, memory_mib=160))
async def unread_answers(scene: Scene) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(scene.many(40)):
            one = await stack.enter_async_context(wire(scene.gateway))
            headers = await initialize(one, scene.gateway)
            one.writer.transport.pause_reading()  # pyright: ignore[reportAttributeAccessIssue]
            await one.send(post(ECHO, call("echo", {"text": "z" * (2 * _MIB)}), headers))
        await asyncio.sleep(1)


@CLIENTS.scenario("heads that drip", Bound(cpu_s=1.0, memory_mib=32), in_short=True)
async def dripping_heads(scene: Scene) -> None:
    await _drip(scene, b"GET /x HTTP/1.1\r\n", b"X-A: b\r\n", scene.many(500))


@CLIENTS.scenario("bodies that drip", Bound(cpu_s=1.5, memory_mib=32))
async def dripping_bodies(scene: Scene) -> None:
    begin = head("POST", ECHO, scene.gateway.credentials | {"Content-Length": "100000"})
    await _drip(scene, begin, b"x", scene.many(500))


async def _drip(scene: Scene, begin: bytes, drop: bytes, connections: int) -> None:
    async with AsyncExitStack() as stack:
        wires = [await stack.enter_async_context(wire(scene.gateway)) for _ in range(connections)]
        for one in wires:
            await one.send(begin)
        for _ in range(5):
            for one in wires:
                await one.send(drop)
            await asyncio.sleep(0.2)


@CLIENTS.scenario("connections that come and go", Bound(cpu_s=4.0, memory_mib=32))
async def churn(scene: Scene) -> None:
    async def come_and_go(times: int) -> None:
        for _ in range(times):
            async with wire(scene.gateway) as one:
                await one.send(
                    b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"[: scene.random.randrange(1, 40)]
                )

    await asyncio.gather(*(come_and_go(scene.many(250)) for _ in range(20)))


@CLIENTS.scenario("wrong tokens in a row", Bound(cpu_s=4.0, memory_mib=32))
async def wrong_tokens(scene: Scene) -> None:
    async def guess(first: int) -> None:
        async with wire(scene.gateway) as one:
            for number in range(first, first + scene.many(250)):
                guessed = {"Authorization": f"Bearer {number:032x}"}
                if not await one.send(post(ECHO, message("ping"), guessed)):
                    return
                answer = await one.answer()
                scene.expect(answer is None or answer.status in (401, 429), f"a guess was answered: {answer}")
                if answer is None:
                    return

    with suppress(TimeoutError):  # wrong guesses may be slowed down
        async with asyncio.timeout(1 if scene.is_short else 5):
            await asyncio.gather(*(guess(place * 1000) for place in range(8)))


# The gateway may open 1,024 files; some 1,300 connections come.
@CLIENTS.scenario(
    "descriptor famine", Bound(cpu_s=3.0, memory_mib=64, wait_ms=1000), descriptors=1024, in_short=True
)
async def famine(scene: Scene) -> None:
    async with AsyncExitStack() as stack:
        for _ in range(1300):
            with suppress(OSError):
                await stack.enter_async_context(wire(scene.gateway))
        await asyncio.sleep(1 if scene.is_short else 3)
    await record_lives(scene)


async def record_lives(scene: Scene) -> None:
    """Afterwards the record still takes calls, can be read, and health and metrics answer."""
    number = FIRST_ID - 1
    answer = await ask(scene.gateway, call("echo", {"text": "after"}, number))
    scene.expect(answer is not None and answer.status == 200, f"no call afterwards: {answer}")
    sql = f"SELECT count(*) FROM rpc_events WHERE method = 'tools/call' AND rpc_id = '{number}'"
    try:
        async with asyncio.timeout(20):
            found = await scene.gateway.ask(sql)
            await scene.gateway.get("/healthz")
        scene.expect(found == [[1]], f"a call afterwards is {found} times in the record")
    except (TimeoutError, AssertionError, *HURT) as problem:
        scene.expect(False, f"the record cannot be read afterwards: {type(problem).__name__} {problem}")
