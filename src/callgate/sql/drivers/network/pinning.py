"""A new session is pinned to its policy before anybody gets it, or closed."""

import asyncio
from typing import Protocol


class Pinnable(Protocol):
    async def pin(self) -> None: ...

    def close(self) -> None: ...


async def pin_or_close(connection: Pinnable, timeout_s: float) -> None:
    try:
        async with asyncio.timeout(timeout_s):
            await connection.pin()
    except BaseException:
        connection.close()
        raise
