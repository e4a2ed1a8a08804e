"""The life of one worker process, which the supervisor forked."""

import asyncio
import gc
import logging
import os
import signal
from collections.abc import Callable
from contextlib import suppress

import msgspec

from callgate.app.build import Gateway, build_gateway
from callgate.app.loop import run_loop
from callgate.app.running import Running, announce, describe_self, withdraw
from callgate.app.serve import (
    ProcessSignals,
    calm_collector,
    follow_settings,
    tell_states,
)
from callgate.app.worker_parts import WorkerPlace
from callgate.config.load import Loaded
from callgate.model.errors import SetupError
from callgate.model.health import Health
from callgate.this_process import share_one_heap

_log = logging.getLogger(__name__)


_BEAT_S = 1.0


class WorkerSaid(msgspec.Struct, omit_defaults=True):
    """What a worker says once: that it is ready, or why it cannot be."""

    health: list[Health] = msgspec.field(default_factory=list[Health])
    code: str = ""
    message: str = ""
    hint: str = ""


def live(loaded: Loaded, place: WorkerPlace, ready: int) -> None:
    """All of a worker's life, in the process that was forked for it: does not return. `ready`: the pipe in
    which it says once how its start went."""
    code = 1

    def say(said: WorkerSaid) -> None:
        with suppress(BrokenPipeError):
            os.write(ready, msgspec.json.encode(said))
        os.close(ready)

    try:
        os.setsid()  # a terminal's Ctrl-C is the supervisor's to pass on
        run_loop(_serve(loaded, place, lambda health: say(WorkerSaid(health))))
        code = 0
    except SetupError as error:
        say(WorkerSaid(code=error.code.code, message=error.message, hint=error.hint))
    except BaseException:  # noqa: BLE001 - a bug's traceback is all that there is to tell
        _log.exception("Worker %d failed", place.number)
    finally:
        logging.shutdown()
        os._exit(code)


async def _serve(loaded: Loaded, place: WorkerPlace, on_ready: Callable[[list[Health]], None]) -> None:
    """Until the supervisor says so, or is gone. Raises SetupError."""
    signals = ProcessSignals(heeds_second=False)
    loop = asyncio.get_running_loop()
    loop.add_reader(place.lifeline, signals.take_end, place.lifeline)
    share_one_heap()
    gateway = await build_gateway(loaded, keeps_store=True, place=place)
    ours: Running | None = None
    telling: list[asyncio.Task[None]] = []
    try:
        assert gateway.workers is not None
        record = gateway.record if place.is_lead else None
        await gateway.workers.start(gateway.listener, record.excerpts if record is not None else None)
        await gateway.listener.start_on(place.listening)
        if place.is_lead:
            ours = await _announce(gateway, loaded, place)
            telling = tell_states(gateway)
        telling.append(follow_settings(gateway, loaded, place.state, ours, signals.reload_asked))
        gateway.load_parsers()
        calm_collector()
        telling.append(asyncio.create_task(_beat(place)))
        on_ready(gateway.relay.health())
        if await signals.first() == signal.SIGTERM:
            gateway.leave()
            await asyncio.sleep(gateway.served.config.drain_s)
    finally:
        for task in telling:
            task.cancel()
        if ours is not None:
            withdraw(place.state, ours)
        await gateway.close()
        gc.unfreeze()


async def _beat(place: WorkerPlace) -> None:
    """Shows the supervisor that this loop runs."""
    assert place.beats is not None
    while True:
        place.beats[place.number] = (place.beats[place.number] + 1) % 256
        await asyncio.sleep(_BEAT_S)


async def _announce(gateway: Gateway, loaded: Loaded, place: WorkerPlace) -> Running:
    """`callgate stdio` and our other commands find the lead; who stops the gateway stops the supervisor."""
    path = await gateway.local_socket.start(place.sockets / f"local.{os.getpid()}.sock")
    ours = msgspec.structs.replace(describe_self(loaded, place.url, path), pid=place.supervisor_pid)
    announce(place.state, ours)
    return ours
