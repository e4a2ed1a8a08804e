"""A driver of the field behind our own endpoint, and nothing between: no guard, no record, no limits.
limits.

    _bare_driver.py PORT      the rest comes by MYSQL_* variables; asyncmy is on the path

What `sql.py` compares with: the same HTTP, the same shape of answer.
"""

import asyncio
import os
import sys
import time
from collections.abc import Callable

import asyncmy  # pyright: ignore[reportMissingImports] - in the folder that `sql.py` put on the path
import msgspec
import uvloop
from starlette.applications import Starlette

from callgate.edge.gate import LOOPBACK_NAMES, GateRules
from callgate.edge.listener import Listener, ListenerLimits
from callgate.model.events import Event
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal, new_exchange_id
from callgate.model.reply import Reply, Tell
from callgate.model.session import Presence, Session
from callgate.ports.answerer import PlainReceiver
from callgate.ports.http_app import MountedApp
from callgate.ports.outlet import Outlet

POOL_SIZE = 16


class BareDriver:
    """Implements `ports.Answerer`."""

    def __init__(self, pool: asyncmy.Pool) -> None:
        self._pool = pool
        self._sessions: dict[str, Session] = {}

    async def answer(self, arrival: Arrival, tell: Tell) -> Reply:
        if arrival.method == "initialize":
            return self._open(arrival)
        arguments = msgspec.json.decode(arrival.params)["arguments"]
        started = time.perf_counter()
        async with self._pool.acquire() as connection, connection.cursor() as cursor:
            await cursor.execute(arguments["query"])
            rows = await cursor.fetchall()
            columns = [{"name": column[0], "type": str(column[1])} for column in cursor.description]
        answer = {
            "columns": columns,
            "rows": rows,
            "rowCount": len(rows),
            "executionTime": (time.perf_counter() - started) * 1000,
            "truncated": False,
        }
        raw = msgspec.json.encode(answer, enc_hook=str)
        content = [{"type": "text", "text": raw.decode()}]
        return Reply(result=msgspec.json.encode({"content": content, "structuredContent": msgspec.Raw(raw)}))

    def begin(self, arrival: Arrival, tool_name: str, receiver: PlainReceiver) -> None:
        """All of them are asked of the database, by `answer`."""

    async def answer_generally(self, arrival: Arrival, tell: Tell) -> Reply:
        return await self.answer(arrival, tell)

    def _open(self, arrival: Arrival) -> Reply:
        now_s = time.time()
        handshake_id = new_exchange_id(now_s)
        session = self._sessions[handshake_id] = Session(
            handshake_id, arrival.principal, "http", arrival.envelope, now_s, now_s, handshake_id=handshake_id
        )
        result = {
            "protocolVersion": arrival.envelope.revision,
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "bare", "version": "0"},
        }
        return Reply(result=msgspec.json.encode(result), opened=session)

    def notice(self, arrival: Arrival) -> None:
        pass

    def find_session(self, handshake_id: str, principal: Principal) -> Session | None:
        return self._sessions.get(handshake_id)

    def attach(self, session: Session, outlet: Outlet, on_end: Callable[[], None]) -> None:
        pass

    def end_session(self, session: Session) -> None:
        pass

    def end_stream(self, presence: Presence, principal: Principal) -> None:
        pass

    def server_of(self, public_name: str) -> str | None:
        return None

    def has_server(self, name: str) -> bool:
        return False

    def server_names(self) -> list[str]:
        return []


class Unrecorded:
    def emit(self, event: Event) -> None:
        pass


async def main() -> None:
    pool = await asyncmy.create_pool(
        minsize=POOL_SIZE,
        maxsize=POOL_SIZE,
        host=os.environ["MYSQL_HOST"],
        port=int(os.environ["MYSQL_PORT"]),
        user=os.environ["MYSQL_USER"],
        password=os.environ["MYSQL_PASS"],
        db=os.environ["MYSQL_DB"],
        autocommit=True,
    )
    nothing = MountedApp(Starlette(), is_open=lambda path: False)
    rules = GateRules(LOOPBACK_NAMES, frozenset(), ())
    listener = Listener(BareDriver(pool), nothing, rules, ListenerLimits(1 << 20, 16_384), Unrecorded())
    await listener.start("127.0.0.1", int(sys.argv[1]))
    await asyncio.Event().wait()


if __name__ == "__main__":
    uvloop.run(main())
