"""Plain MCP clients that show what came as it came: a pipe or HTTP of the handshake era, HTTP of the modern.

Each answers a server's questions at once, always with the same words. Numbers keep their spelling and
objects the order of their keys, so that two answers are equal only if their texts are, but for blanks and
escapes.
"""

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from edge.http_probe import INITIALIZE, MODERN_META
from end_to_end.raw_clients import Answering, LegacyClient, ModernClient

Json = dict[str, Any]
# Only against a hang; nothing is asserted about it.
DEADLINE_S = 60.0
LINE_LIMIT_BYTES = 64 * 1024 * 1024
INFO = {"name": "zoo", "version": "1"}
CAPABILITIES: Json = {"elicitation": {"form": {}}, "sampling": {}, "roots": {}}
SAMPLED = {"role": "assistant", "content": {"type": "text", "text": "forty-two"}, "model": "zoo"}
ELICITED = {"action": "accept", "content": {"name": "Ada"}}


def spelled(text: bytes | str) -> Any:
    """Numbers as `{"number": "1.50"}`: as they were written."""
    return json.loads(text, parse_float=_number, parse_int=_number)


def _asked(question: Json) -> Json:
    return {"method": question["method"], "params": question.get("params") or {}}


def _number(text: str) -> Json:
    return {"number": text}


@dataclass
class Heard:
    """One request and what came of it. `answer` has a `result` or an `error`."""

    answer: Json
    progress: list[Any] = field(default_factory=list)
    questions: list[Json] = field(default_factory=list)


class Talk(Protocol):
    introduced: Json

    async def ask(
        self, method: str, params: Json, *, on_progress: Callable[[], None] | None = None
    ) -> Heard: ...

    async def cancel(self, method: str, params: Json) -> None:
        """Begins a request, and cancels it at its first progress."""
        ...


class _Answers:
    def __init__(self, root: Path) -> None:
        self._root = root

    def to(self, method: str) -> Json | None:
        if method == "roots/list":
            return {"roots": [{"uri": self._root.as_uri(), "name": "work"}]}
        return {"sampling/createMessage": SAMPLED, "elicitation/create": ELICITED, "ping": {}}.get(method)


class PipeTalk:
    def __init__(self, process: asyncio.subprocess.Process, root: Path) -> None:
        self._process = process
        self._answers = _Answers(root)
        self._waiting: dict[str, asyncio.Future[Json]] = {}
        self._heard: dict[str, Heard] = {}
        self._steps: dict[str, Callable[[], None]] = {}
        self._next = 0
        self._reading = asyncio.ensure_future(self._read())
        self.introduced: Json = {}

    async def introduce(self) -> None:
        heard = await self.ask("initialize", INITIALIZE | {"capabilities": CAPABILITIES, "clientInfo": INFO})
        self.introduced = heard.answer
        self._send({"method": "notifications/initialized"})

    def _send(self, message: Json) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")

    async def _read(self) -> None:
        assert self._process.stdout is not None
        with suppress(ValueError, ConnectionError):
            async for line in self._process.stdout:
                with suppress(json.JSONDecodeError):  # some servers greet on stdout
                    self._take(json.loads(line), line)
        for waiting in self._waiting.values():
            if not waiting.done():
                waiting.set_exception(ConnectionError("the program ended"))

    def _take(self, message: Any, line: bytes) -> None:
        if not isinstance(message, dict):
            return
        rpc_id = str(message.get("id"))
        if "method" not in message:
            if (waiting := self._waiting.pop(rpc_id, None)) is not None and not waiting.done():
                waiting.set_result(spelled(line))
        elif "id" in message:
            self._reply(message["id"], spelled(line))
        elif message["method"] == "notifications/progress":
            token = str(message["params"].get("progressToken"))
            if token in self._heard:
                self._heard[token].progress.append(spelled(line)["params"])
                self._steps.get(token, lambda: None)()

    def _reply(self, rpc_id: Any, question: Json) -> None:
        for heard in self._heard.values():
            heard.questions.append(_asked(question))
        result = self._answers.to(question["method"])
        refused = {"error": {"code": -32601, "message": "Method not found"}}
        self._send({"id": rpc_id, **({"result": result} if result is not None else refused)})

    async def ask(self, method: str, params: Json, *, on_progress: Callable[[], None] | None = None) -> Heard:
        heard, answer = self._begin(method, params, on_progress)
        try:
            async with asyncio.timeout(DEADLINE_S):
                heard.answer = await answer
        finally:
            self._heard.pop(str(self._next), None)
        return heard

    def _begin(
        self, method: str, params: Json, on_progress: Callable[[], None] | None
    ) -> tuple[Heard, asyncio.Future[Json]]:
        self._next += 1
        rpc_id = str(self._next)
        answer: asyncio.Future[Json] = asyncio.get_running_loop().create_future()
        self._waiting[rpc_id] = answer
        heard = self._heard[rpc_id] = Heard({})
        if on_progress is not None:
            self._steps[rpc_id] = on_progress
            params = params | {"_meta": {"progressToken": rpc_id}}
        self._send({"id": self._next, "method": method, "params": params})
        return heard, answer

    async def cancel(self, method: str, params: Json) -> None:
        begun = asyncio.Event()
        _, answer = self._begin(method, params, begun.set)
        async with asyncio.timeout(DEADLINE_S):
            await begun.wait()
        self._send({"method": "notifications/cancelled", "params": {"requestId": self._next}})
        answer.cancel()

    async def end(self) -> bool:
        """Whether it ended by itself when its input did."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            await asyncio.wait_for(self._process.wait(), 10)
        except TimeoutError:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, 9)  # its own group: start_new_session
            await self._process.wait()
            return False
        finally:
            await self._reading
        return True


@asynccontextmanager
async def over_a_pipe(
    command: list[str], env: dict[str, str], cwd: Path, root: Path, said: Path
) -> AsyncIterator[PipeTalk]:
    with said.open("ab") as stderr:
        process = await asyncio.create_subprocess_exec(
            *command, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=stderr,
            env=env, cwd=cwd, limit=LINE_LIMIT_BYTES, start_new_session=True,
        )  # fmt: skip
    talk = PipeTalk(process, root)
    try:
        await talk.introduce()
        yield talk
    finally:
        await talk.end()


class HttpTalk:
    """Streamable HTTP of the handshake era. Questions outside of a call come on the GET stream."""

    def __init__(self, client: LegacyClient, root: Path) -> None:
        self._client = client
        self._answers = _Answers(root)
        self._next = 1
        self._listening: asyncio.Future[None] | None = None
        self.introduced = spelled(json.dumps(client.introduced))

    async def listen(self) -> None:
        stream = await self._client.http("GET", self._client.headers | {"accept": "text/event-stream"})
        await stream.read_head()
        if stream.status == 200:
            self._listening = asyncio.ensure_future(self._answer_all(stream))

    async def _answer_all(self, stream: Answering) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            async for frame in stream:
                await self._reply(frame)

    async def _reply(self, frame: bytes) -> Json | None:
        """The question that it was."""
        message = json.loads(frame)
        if "method" not in message or "id" not in message:
            return None
        await self._client.respond(message, self._answers.to(message["method"]))
        return _asked(spelled(frame))

    async def _begin(self, method: str, params: Json) -> Answering:
        self._next += 1
        answering = await self._client.send(method, params, str(self._next).encode())
        await answering.read_head()
        return answering

    async def ask(self, method: str, params: Json, *, on_progress: Callable[[], None] | None = None) -> Heard:
        heard = Heard({})
        if on_progress is not None:
            params = params | {"_meta": {"progressToken": f"p{self._next}"}}
        async with asyncio.timeout(DEADLINE_S):
            answering = await self._begin(method, params)
            async for frame in answering:
                message = json.loads(frame)
                if (question := await self._reply(frame)) is not None:
                    heard.questions.append(question)
                elif message.get("method") == "notifications/progress":
                    heard.progress.append(spelled(frame)["params"])
                elif "method" not in message:
                    heard.answer = spelled(frame)
            await answering.hang_up()
        return heard

    async def cancel(self, method: str, params: Json) -> None:
        async with asyncio.timeout(DEADLINE_S):
            answering = await self._begin(method, params | {"_meta": {"progressToken": "cancel"}})
            await answering.until_method("notifications/progress")
            await self._client.notify("notifications/cancelled", {"requestId": self._next})
            await answering.hang_up()

    async def end(self) -> None:
        await self._client.end()
        if self._listening is not None:
            self._listening.cancel()
            await asyncio.gather(self._listening, return_exceptions=True)
        await self._client.hang_up()


@asynccontextmanager
async def over_http(port: int, path: str, root: Path) -> AsyncIterator[HttpTalk]:
    async with LegacyClient(port, path, CAPABILITIES, INFO) as client:
        talk = HttpTalk(client, root)
        await talk.listen()
        try:
            yield talk
        finally:
            await talk.end()


class ModernTalk:
    """2026-07-28: a question is an answer that asks for more."""

    def __init__(self, client: ModernClient, root: Path) -> None:
        self._client = client
        self._answers = _Answers(root)
        self.introduced: Json = {}

    async def introduce(self) -> None:
        self.introduced = (await self.ask("server/discover", {})).answer

    async def _begin(self, method: str, params: Json) -> Answering:
        said = {
            "io.modelcontextprotocol/clientInfo": INFO,
            "io.modelcontextprotocol/clientCapabilities": CAPABILITIES,
        }
        meta = MODERN_META | said | params.get("_meta", {})
        answering = await self._client.send(method, params | {"_meta": meta})
        await answering.read_head()
        return answering

    async def ask(self, method: str, params: Json, *, on_progress: Callable[[], None] | None = None) -> Heard:
        heard = Heard({})
        if on_progress is not None:
            params = params | {"_meta": {"progressToken": "step"}}
        async with asyncio.timeout(DEADLINE_S):
            while True:
                answering = await self._begin(method, params)
                async for frame in answering:
                    message = spelled(frame)
                    if message.get("method") == "notifications/progress":
                        heard.progress.append(message["params"])
                    elif "method" not in message:
                        heard.answer = message
                await answering.hang_up()
                result = heard.answer.get("result", {})
                if result.get("resultType") != "input_required":
                    return heard
                params = params | {"requestState": result["requestState"], "inputResponses": {}}
                for key, question in result["inputRequests"].items():
                    heard.questions.append(_asked(question))
                    params["inputResponses"][key] = self._answers.to(question["method"])

    async def cancel(self, method: str, params: Json) -> None:
        async with asyncio.timeout(DEADLINE_S):
            answering = await self._begin(method, params | {"_meta": {"progressToken": "cancel"}})
            await answering.until_method("notifications/progress")
            await answering.hang_up()  # in this era that is how one cancels


@asynccontextmanager
async def over_modern_http(port: int, path: str, root: Path) -> AsyncIterator[ModernTalk]:
    async with ModernClient(port, path) as client:
        talk = ModernTalk(client, root)
        await talk.introduce()
        yield talk
