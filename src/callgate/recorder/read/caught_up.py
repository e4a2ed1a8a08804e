"""A read sees everything settled so far: the store is brought up to date first."""

import asyncio

from callgate.model.errors import SetupError
from callgate.recorder.recorder import Recorder


async def caught_up(recorder: Recorder) -> int:
    """The number up to which every row is stored. Raises when the store could not be brought up to date:
    stale rows are no answer."""
    loop = asyncio.get_running_loop()
    flushed: asyncio.Future[int] = loop.create_future()
    recorder.flush(lambda reached, error: loop.call_soon_threadsafe(_resolve, flushed, reached, error))
    return await flushed


def _resolve(future: asyncio.Future[int], reached: int, error: SetupError | None) -> None:
    if future.done():  # the reader may have been cancelled meanwhile
        return
    if error is None:
        future.set_result(reached)
    else:
        future.set_exception(error)
