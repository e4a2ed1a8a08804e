"""A client as a child process that is told what to do in lines of JSON; this is the Python SDKs' common part.

    ← {"id": 1, "link": "a", "do": "connect", "url": "http://…"}
    → {"id": 1, "result": {…}}      or      {"id": 1, "error": {"code": -32602, "message": "…", "data": …}}

One process holds many links, each its own connection. What the server asks is answered at once, always with
the same words (`answer_*`), and noted; what it tells is noted too. `driver.mjs` is the same for TypeScript.
Imports neither SDK: it runs in the environment of both.
"""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any

Json = dict[str, Any]
ANSWERS = {"name": "Ada", "colour": "green"}
ROOT = {"uri": "file:///driver/root", "name": "root"}


class ServerRefusedError(Exception):
    """The server's error, in the words of the wire."""

    def __init__(self, code: int, message: str, data: Any) -> None:
        super().__init__(message)
        self.error = {"code": code, "message": message, "data": data}


def answer_elicitation(params: Json) -> Json:
    if "decline" in params["message"]:
        return {"action": "decline"}
    if params.get("mode") == "url":
        return {"action": "accept"}
    return {
        "action": "accept",
        "content": {key: ANSWERS[key] for key in params["requestedSchema"]["properties"]},
    }


def answer_sampling(params: Json) -> Json:
    said = params["messages"][0]["content"]
    said = said[0] if isinstance(said, list) else said
    content = {"type": "text", "text": f"heard {said['text']}"}
    return {"role": "assistant", "content": content, "model": "driver", "stopReason": "endTurn"}


class Link:
    """One connection. The SDK's side implements `open` and the operations that follow it."""

    def __init__(self, target: Json) -> None:
        self.target = target
        self.questions: list[Json] = []
        self.told: list[Json] = []
        self._changed = asyncio.Condition()
        self._closing = asyncio.Event()

    async def note(self, method: str, params: Json) -> None:
        async with self._changed:
            self.told.append({"method": method, "params": params})
            self._changed.notify_all()

    async def open(self, ready: Callable[[Json], None]) -> None:
        """Connects, calls `ready`, and returns when `until_closed` does."""
        raise NotImplementedError

    async def until_closed(self) -> None:
        await self._closing.wait()

    # ---- operations that need no SDK

    async def do_close(self) -> Json:
        self._closing.set()
        return {}

    async def do_asked(self) -> list[Json]:
        """What the server asked since the last time."""
        asked, self.questions = self.questions, []
        return asked

    async def do_event(self, method: str, uri: str | None = None) -> Json:
        """The next notification of that kind; it is taken out."""

        def find() -> Json | None:
            for entry in self.told:
                if entry["method"] == method and uri in (None, entry["params"].get("uri")):
                    return entry
            return None

        async with self._changed:
            await self._changed.wait_for(lambda: find() is not None)
            found = find()
            assert found is not None
            self.told.remove(found)
            return found["params"]

    async def do_forget(self) -> Json:
        self.told.clear()
        self.questions.clear()
        return {}


class Driver:
    def __init__(self, make_link: Callable[[Json], Link]) -> None:
        self._make_link = make_link
        self._links: dict[str, Link] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def run(self) -> None:
        asyncio.run(self._run())

    async def _run(self) -> None:
        reader = asyncio.StreamReader(limit=16 * 1024 * 1024)
        await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), sys.stdin
        )
        while line := await reader.readline():
            self._start(self._answer(json.loads(line)))
        for link in self._links.values():
            await link.do_close()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=5)

    def _start(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, order: Json) -> None:
        order_id, name, what = order.pop("id"), order.pop("link"), order.pop("do")
        try:
            if what == "connect":
                result: Any = await self._connect(name, order)
            else:
                result = await getattr(self._links[name], f"do_{what}")(**order)
            said: Json = {"id": order_id, "result": result}
        except ServerRefusedError as refusal:
            said = {"id": order_id, "error": refusal.error}
        except Exception as problem:  # noqa: BLE001 — whatever it was, the test hears of it
            said = {"id": order_id, "error": {"code": 0, "message": f"{type(problem).__name__}: {problem}"}}
        print(json.dumps(said), flush=True)

    async def _connect(self, name: str, target: Json) -> Json:
        link = self._links[name] = self._make_link(target)
        introduced: asyncio.Future[Json] = asyncio.get_running_loop().create_future()

        async def hold() -> None:
            # One task from its beginning to its end: an SDK's connection is left where it was entered.
            try:
                await link.open(introduced.set_result)
            except Exception as problem:  # noqa: BLE001
                if not introduced.done():
                    introduced.set_exception(problem)

        self._start(hold())
        return await introduced
