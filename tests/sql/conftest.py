"""What the SQL tests share: a demo shop of their own, and an asker that speaks as the relay would."""

import json
import shutil
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypedDict, Unpack

import pytest

from callgate.model.envelope import Envelope, Era
from callgate.model.exchange import Hop, StatementFacts
from callgate.model.identity import LOCAL
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.ports import upstream
from callgate.sql.demo.demo import make_demo_shop
from callgate.sql.server.custom_tools import ToolSettings
from callgate.sql.server.open_source import open_source
from callgate.sql.server.server import SqlServer
from callgate.sql.settings import Mode, SourceSettings

ENVELOPE = Envelope(Era.LEGACY, "2025-11-25")
CLIENT = upstream.Asker(ENVELOPE, Session("s", LOCAL, "http", ENVELOPE, 0.0, 0.0), b"1")


@dataclass(frozen=True)
class Answer:
    raw: dict[str, Any]
    known: StatementFacts | None

    @property
    def facts(self) -> StatementFacts:
        assert self.known is not None, "no statement was reached"
        return self.known

    @property
    def text(self) -> str:
        return self.raw["content"][0]["text"]

    @property
    def structured(self) -> dict[str, Any]:
        return self.raw["structuredContent"]

    @property
    def is_error(self) -> bool:
        return self.raw["isError"]

    @property
    def code(self) -> str | None:
        return self.raw.get("_meta", {}).get("callgate/code")

    @property
    def rule(self) -> str | None:
        return self.raw.get("_meta", {}).get("callgate/rule")


class Asker:
    def __init__(self, server: SqlServer) -> None:
        self.server = server

    async def send(self, method: str, params: object) -> tuple[dict[str, Any], Hop]:
        hop = Hop(self.server.name, method, json.dumps(params).encode(), started_mono=0.0)
        reply = await self.server.ask(hop, CLIENT, tell_nobody)
        assert reply.result is not None
        return json.loads(reply.result), hop

    async def query(self, sql: str, **arguments: object) -> Answer:
        return await self.call("query", query=sql, **arguments)

    async def call(self, tool: str, **arguments: object) -> Answer:
        raw, hop = await self.send("tools/call", {"name": tool, "arguments": arguments})
        return Answer(raw, hop.facts)

    async def tools(self) -> dict[str, dict[str, Any]]:
        listed, _ = await self.send("tools/list", {})
        return {tool["name"]: tool for tool in listed["tools"]}

    async def read(self, uri: str) -> tuple[dict[str, Any], str]:
        """A resource's JSON and its Markdown."""
        raw, _ = await self.send("resources/read", {"uri": uri})
        structured, markdown = raw["contents"]
        assert (structured["uri"], structured["mimeType"]) == (uri, "application/json")
        assert (markdown["uri"], markdown["mimeType"]) == (uri, "text/markdown")
        return json.loads(structured["text"]), markdown["text"]


class Options(TypedDict, total=False):
    """What a test may set of a source: fields of SourceSettings."""

    schema: str | None
    mode: Mode
    timeout_s: float
    max_rows: int
    character_limit: int
    allow_ddl: bool
    allow_functions: frozenset[str]
    pool_size: int
    require_qualified: bool


class OpenShop(Protocol):
    """The fixture `opened`: a source on the demo shop, or on the file at `path`."""

    def __call__(
        self, path: Path | None = None, tools: Sequence[ToolSettings] = (), **settings: Unpack[Options]
    ) -> AbstractAsyncContextManager[Asker]: ...


@pytest.fixture(scope="session")
def pristine_shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("demo") / "shop.db"
    make_demo_shop(path)
    return path


@pytest.fixture
def shop(pristine_shop: Path, tmp_path: Path) -> Path:
    return Path(shutil.copy(pristine_shop, tmp_path / "shop.db"))


@pytest.fixture
def opened(shop: Path) -> OpenShop:
    @asynccontextmanager
    async def open_it(
        path: Path | None = None, tools: Sequence[ToolSettings] = (), **settings: Unpack[Options]
    ) -> AsyncIterator[Asker]:
        server = open_source(SourceSettings("demo", "sqlite", path or shop, **settings), tools)
        try:
            yield Asker(server)
        finally:
            await server.close()

    return open_it
