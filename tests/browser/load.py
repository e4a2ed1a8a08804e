"""Calls at a rate, by a few raw clients: faster than any SDK would be."""

import asyncio

from edge.http_probe import HttpProbe

_CLIENTS = 8


async def burst(port: int, per_second: int, seconds: float) -> tuple[float, int]:
    """The rate that was reached, and how many calls were made, maybe fewer than asked for."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    total = int(per_second * seconds)
    numbers = iter(range(total))

    async def work() -> None:
        async with HttpProbe(port) as http:
            for number in numbers:
                early = begun + number / per_second - loop.time()
                if early > 0:
                    await asyncio.sleep(early)
                arguments = {"query": f"SELECT {number} AS n"}
                answer = await http.modern("tools/call", {"name": "demo__query", "arguments": arguments})
                assert answer.status == 200, answer

    await asyncio.gather(*(work() for _ in range(_CLIENTS)))
    return total / (loop.time() - begun), total
