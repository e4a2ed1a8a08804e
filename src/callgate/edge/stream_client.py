"""One client on an ordered stream: our own stdin and stdout, or a process that joined over the local socket.

`wire.Conversation` decides what each frame means; here its events become arrivals and answers become lines.
"""

import asyncio
import logging
import time
from contextlib import suppress
from typing import Protocol

from callgate.edge.questions import Questions
from callgate.edge.refusals import Refusals
from callgate.edge.visit import name_client
from callgate.model.envelope import Envelope
from callgate.model.errors import CallerError
from callgate.model.exchange import Arrival
from callgate.model.identity import LOCAL, Principal
from callgate.model.reply import Paused, Said, Unsolicited
from callgate.model.session import Presence, Session
from callgate.ports.answerer import Answerer
from callgate.ports.event_sink import EventSink
from callgate.wire.connection.conversation import (
    Cancel,
    Conversation,
    Event,
    IncomingRequest,
    Refuse,
    Replied,
    Told,
)
from callgate.wire.fault_of import fault_of
from callgate.wire.framing.lines import flat
from callgate.wire.json_rpc import Notification, Request, encode_fault, encode_reply

_log = logging.getLogger(__name__)

# After the client closed its side, answers under way may still be wanted (`echo … | callgate stdio`).
_GRACE_S = 10.0
# What is said out of turn waits here for its line; a client that does not read loses the newest.
_MAX_UNSAID = 1000
# How long answers under way may take once we were told to stop; the HTTP listener has the same patience.
STOP_GRACE_S = 15.0
# Past this many open requests we stop reading: the pipe fills and the client has to wait.
_MAX_OPEN = 1000


class DuplexStream(Protocol):
    async def read(self) -> bytes:
        """Some bytes; b"" at the end."""
        ...

    async def write(self, data: bytes) -> None:
        """All of `data`, in order, waiting while the other side is slow. Raises OSError when it is gone."""
        ...


class StreamClient:
    def __init__(
        self,
        answerer: Answerer,
        stream: DuplexStream,
        sink: EventSink,
        principal: Principal = LOCAL,
        folder: str | None = None,
    ) -> None:
        """`folder`: in which the client's process was started."""
        self._answerer = answerer
        self._stream = stream
        self._principal = principal
        self._folder = folder
        self._refusals = Refusals(sink, answerer.server_of)
        self._conversation = Conversation()
        self._session: Session | None = None
        self._presence = Presence()
        self._tasks: dict[bytes, asyncio.Task[None]] = {}
        self._room = asyncio.Semaphore(_MAX_OPEN)
        self._questions = Questions()
        self._speaking: asyncio.Task[None] | None = None
        self._unsaid: asyncio.Queue[Unsolicited] = asyncio.Queue(_MAX_UNSAID)

    async def run(self) -> None:
        """Until the client closes its side, or is gone."""
        self._presence.joined()
        try:
            while data := await self._stream.read():
                try:
                    events = self._conversation.receive(data)
                except CallerError as error:
                    self._refusals.on_stream(error, None, self._principal, self._session)
                    await self._stream.write(encode_fault(None, fault_of(error)) + b"\n")
                    break
                await self._handle_all(events)
            if self._tasks:
                await asyncio.wait(list(self._tasks.values()), timeout=_GRACE_S)
        except OSError as problem:
            _log.debug("the client is gone: %s", problem)
        finally:
            await self._end()

    async def finish(self) -> None:
        """We are about to stop: let what is under way be answered, for a while."""
        if self._tasks:
            await asyncio.wait(list(self._tasks.values()), timeout=STOP_GRACE_S)

    # ---- ports.Outlet

    def say(self, item: Unsolicited) -> None:
        with suppress(asyncio.QueueFull):
            self._unsaid.put_nowait(item)

    async def _speak(self) -> None:
        """Writes what is said out of turn, for as long as the session lives."""
        with suppress(OSError):
            while True:
                await self._write(await self._unsaid.get())

    async def _end(self) -> None:
        tasks = list(self._tasks.values())
        if self._speaking is not None:
            tasks.append(self._speaking)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._presence.left(time.time())
        if self._session is not None:
            self._answerer.end_session(self._session)
        self._answerer.end_stream(self._presence, self._principal)

    async def _handle_all(self, events: list[Event]) -> None:
        for event in events:
            await self._handle(event)

    async def _handle(self, event: Event) -> None:
        match event:
            case IncomingRequest(request, envelope):
                await self._room.acquire()
                task = asyncio.create_task(self._answer(request, envelope))
                # A callback, since a task cancelled before its first step never reaches its own `finally`.
                task.add_done_callback(lambda _: self._closed(request.rpc_id))
                self._tasks[request.rpc_id] = task
            case Told(notification, envelope):
                self._answerer.notice(self._arrival(notification, envelope))
            case Cancel(rpc_id, told):
                # No response follows (2025-11-25 and 2026-07-28, cancellation).
                if (task := self._tasks.get(rpc_id)) is not None:  # it may have crossed its answer
                    task.cancel()
                await self._handle(told)
            case Refuse(error, message):
                self._refusals.on_stream(error, message, self._principal, self._session)
                if event.frame is not None:
                    await self._stream.write(event.frame + b"\n")
            case Replied(response):
                self._questions.answered(response)

    async def _answer(self, request: Request, envelope: Envelope) -> None:
        arrival = self._arrival(request, envelope)
        opened: Session | None = None
        try:
            reply = await self._answerer.answer(arrival, self._tell)
            opened = reply.opened
            if opened is not None:
                self._shake_hands(opened)  # before the client can answer: it may be quick
            await self._stream.write(flat(encode_reply(request.rpc_id, reply)) + b"\n")
            if opened is not None:
                await self._handle_all(self._conversation.handshake_done(opened.envelope))
        except OSError as problem:
            _log.debug("an answer had no reader: %s", problem)
        finally:
            if request.method == "initialize" and opened is None:
                await self._handle_all(self._conversation.handshake_done(None))

    def _shake_hands(self, session: Session) -> None:
        self._session = session
        self._answerer.attach(session, self, lambda: None)
        self._speaking = asyncio.create_task(self._speak())

    async def _tell(self, said: Said) -> None:
        try:
            await self._write(said)
        except OSError as problem:  # nobody hears it: so nobody wants the answer
            raise asyncio.CancelledError from problem

    async def _write(self, item: Said) -> None:
        # A pipe has nothing to close while it is paused.
        frame = None if isinstance(item, Paused) else self._questions.frame(item)
        if frame is not None:
            await self._stream.write(flat(frame) + b"\n")

    def _closed(self, rpc_id: bytes) -> None:
        self._conversation.closed(rpc_id)
        del self._tasks[rpc_id]
        self._room.release()

    def _arrival(self, message: Request | Notification, envelope: Envelope) -> Arrival:
        return Arrival(
            method=message.method,
            rpc_id=message.rpc_id if isinstance(message, Request) else None,
            params=message.params,
            envelope=envelope,
            principal=self._principal,
            transport="stdio",
            client=name_client(envelope),
            session=self._session if envelope.era == "legacy" else None,
            workspace=self._folder,
            presence=self._presence,
            is_local=True,
        )
