"""A fake of our own boundary: an Answerer that does what each method's name says."""

import asyncio
from collections.abc import Callable

from callgate.model.envelope import Era
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.reply import Answer, Asking, Notice, Paused, Reply, RpcFault, Tell
from callgate.model.session import Presence, Session
from callgate.ports.answerer import PlainReceiver
from callgate.ports.outlet import Outlet


class ScriptedAnswerer:
    def __init__(self) -> None:
        self.arrivals: list[Arrival] = []
        self.notices: list[Arrival] = []
        self.cancelled: list[str] = []
        self.ended: list[str] = []
        self.ended_streams: list[Presence] = []
        self.sessions: dict[str, Session] = {}
        self.outlets: dict[str, Outlet] = {}
        self.on_end: dict[str, Callable[[], None]] = {}
        self.answers: list[Answer] = []
        self.waiting = asyncio.Event()  # "test/wait" is under way
        self.release = asyncio.Event()  # lets it finish
        self.settled = asyncio.Event()  # something was cancelled
        self.result = b"{}"  # of "test/large"

    async def answer(self, arrival: Arrival, tell: Tell) -> Reply:
        self.arrivals.append(arrival)
        match arrival.method:
            case "initialize":
                return Reply(result=b'{"ok":true}', opened=self._open(arrival))
            case "test/notices":
                await tell(Notice("notifications/progress", b'{"progress":1}'))
                await tell(Notice("notifications/progress", b'{\n"progress":2}'))
                return Reply(result=b'{"done":true}')
            case "test/ask":
                answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
                await tell(Asking("elicitation/create", b'{"message":"?"}', answered.set_result))
                self.waiting.set()
                self.answers.append(await answered)
                return Reply(result=b'{"asked":true}')
            case "test/pause":
                await tell(Notice("notifications/message", b'{"data":"before"}'))
                await tell(Paused(retry_ms=10))
                await self.release.wait()
                await tell(Notice("notifications/message", b'{"data":"after"}'))
                return Reply(result=b'{"resumed":true}')
            case "test/wait":
                self.waiting.set()
                try:
                    await self.release.wait()
                except asyncio.CancelledError:
                    self.cancelled.append(arrival.method)
                    self.settled.set()
                    raise
                return Reply(result=b'{"waited":true}')
            case "test/large":
                return Reply(result=self.result)
            case "test/unknown":
                return Reply(fault=RpcFault(-32601, "Method not found"))
            case "test/bug":
                raise ZeroDivisionError("a secret in here")
            case _:
                return Reply(result=b'{"echo":' + (arrival.params or b"null") + b"}")

    def begin(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> None:
        """None is plain here."""

    async def answer_generally(self, arrival: Arrival, tell: Tell) -> Reply:
        return await self.answer(arrival, tell)

    def _open(self, arrival: Arrival) -> Session:
        assert arrival.envelope.era is Era.LEGACY
        key = f"handshake-{len(self.sessions)}"
        number = len(self.sessions)
        session = Session(
            f"session-{number}", arrival.principal, "http", arrival.envelope, 0.0, 0.0, handshake_id=key
        )
        self.sessions[key] = session
        return session

    def notice(self, arrival: Arrival) -> None:
        self.notices.append(arrival)

    def find_session(self, handshake_id: str, principal: Principal) -> Session | None:
        session = self.sessions.get(handshake_id)
        return session if session is not None and session.principal == principal else None

    def attach(self, session: Session, outlet: Outlet, on_end: Callable[[], None]) -> None:
        self.outlets[session.session_id] = outlet
        self.on_end[session.session_id] = on_end

    def end_session(self, session: Session) -> None:
        self.ended.append(session.session_id)
        self.on_end.pop(session.session_id, lambda: None)()
        if session.handshake_id is not None:
            self.sessions.pop(session.handshake_id, None)

    def end_stream(self, presence: Presence, principal: Principal) -> None:
        self.ended_streams.append(presence)

    def server_of(self, public_name: str) -> str | None:
        return "shop" if public_name.startswith("shop__") else None

    def has_server(self, name: str) -> bool:
        return name == "shop"

    def server_names(self) -> list[str]:
        return ["shop"]
