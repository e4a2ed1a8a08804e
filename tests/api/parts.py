"""What the API asks, as small as it can be; and an HTTP client for an app that no listener serves."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from callgate.model.health import Health, State
from callgate.model.identity import LOCAL
from callgate.model.offers import Offer, OfferKind, Route
from callgate.ports.caller import CalledTool, ServerQuestion, ToolCall
from callgate.ports.http_app import HttpApp


class NoServers:
    catalog_version = 0

    def health(self) -> list[Health]:
        return []

    async def tools(self) -> Sequence[Offer]:
        return []

    def lacking(self, server: str, tool: str) -> list[str]:
        return []

    async def find_tools(self, query: str, limit: int) -> Sequence[Offer]:
        return []


class NoCaller:
    async def call(self, call: ToolCall) -> CalledTool:
        raise AssertionError("nobody calls here")

    async def ask(self, question: ServerQuestion) -> CalledTool:
        raise AssertionError("nobody asks here")


def offer(name: str, server: str = "demo", **definition: Any) -> Offer:
    body = {"name": f"{server}__{name}", "inputSchema": {"type": "object"}, **definition}
    annotations = definition.get("annotations")
    return Offer(
        OfferKind.TOOL,
        body["name"],
        Route(server, name),
        json.dumps(body).encode(),
        None if annotations is None else json.dumps(annotations).encode(),
    )


@dataclass
class OneServer:
    """`demo`, up, with what it is given to offer."""

    offers: list[Offer] = field(default_factory=list[Offer])
    state: State = State.UP
    catalog_version: int = 0
    stderr_tail: tuple[str, ...] = ()

    def health(self) -> list[Health]:
        return [Health("demo", "sql", self.state, "SQLite", version="3", stderr_tail=self.stderr_tail)]

    async def tools(self) -> Sequence[Offer]:
        return self.offers

    def lacking(self, server: str, tool: str) -> list[str]:
        return ["elicitation"] if (server, tool) == ("demo", "demo__ask") else []

    async def find_tools(self, query: str, limit: int) -> Sequence[Offer]:
        return [one for one in self.offers if query in one.public_name][:limit]


@dataclass
class KeptCaller:
    """Answers every call, and remembers it."""

    called: list[ToolCall] = field(default_factory=list[ToolCall])
    asked: list[ServerQuestion] = field(default_factory=list[ServerQuestion])

    async def call(self, call: ToolCall) -> CalledTool:
        self.called.append(call)
        return CalledTool("00000000-0000-7000-8000-000000000000", b'{"content":[]}', None)

    async def ask(self, question: ServerQuestion) -> CalledTool:
        self.asked.append(question)
        return CalledTool("00000000-0000-7000-8000-000000000000", b'{"resources":[]}', None)


@dataclass
class Answered:
    status: int
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


async def ask(
    app: HttpApp, target: str, body: Any = None, method: str | None = None, **headers: str
) -> Answered:
    """GET, or POST when there is a body."""
    path, _, query = target.partition("?")
    sent: dict[str, str] = {"content-type": "application/json"} if body is not None else {}
    sent |= {name.replace("_", "-"): value for name, value in headers.items()}
    scope = {
        "type": "http", "asgi": {"version": "3.0", "spec_version": "2.4"}, "http_version": "1.1",
        "method": method or ("GET" if body is None else "POST"),
        "scheme": "http", "path": unquote(path), "root_path": "",
        "raw_path": path.encode(), "query_string": query.encode(), "client": ("127.0.0.1", 0), "server": None,
        "headers": [(name.encode(), value.encode()) for name, value in sent.items()],
        "state": {"principal": LOCAL},
    }  # fmt: skip
    answered = Answered(0, {}, b"")

    async def receive() -> dict[str, Any]:
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        return {"type": "http.request", "body": raw if body is not None else b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            answered.status = message["status"]
            answered.headers = {name.decode(): value.decode() for name, value in message["headers"]}
        else:
            answered.body += message.get("body", b"")

    await app(scope, receive, send)
    return answered
