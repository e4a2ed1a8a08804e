"""A whole gateway in this process: a shop, a database that is not there, a program that cannot be started."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from api.parts import Answered, ask

from callgate.app.build import Gateway, build_gateway
from callgate.config.load import load_config
from callgate.config.sources.flags import Flags
from callgate.sql.demo.demo import make_demo_shop

CONFIG = """
version = 1
[[sources]]
id = "shop"
dsn = "sqlite:///{folder}/shop.db?schema=shop"
[[sources]]
id = "gone"
dsn = "sqlite:///{folder}/gone.db"
mode = "write"
[mcpServers.files]
command = "{folder}/no-such-program"
"""


@dataclass
class Whole:
    gateway: Gateway
    folder: Path

    def __post_init__(self) -> None:
        self.app = self.gateway.api.app()

    async def ask(self, target: str, body: Any = None) -> Answered:
        return await ask(self.app, target, body)

    async def get(self, target: str) -> Any:
        answered = await self.ask(target)
        assert answered.status == 200, answered.body
        return answered.json

    async def call(self, tool: str, **arguments: Any) -> Any:
        return (await self.ask("/api/v1/call", {"tool": tool, "arguments": arguments})).json


@asynccontextmanager
async def whole_gateway(folder: Path, config: str = CONFIG) -> AsyncIterator[Whole]:
    make_demo_shop(folder / "shop.db")
    file = folder / "callgate.toml"
    file.write_text(config.format(folder=folder))
    loaded = load_config(Flags(config=file), {"CALLGATE_STATE_DIR": str(folder / "state")})
    gateway = await build_gateway(loaded, keeps_store=True)
    try:
        yield Whole(gateway, folder)
    finally:
        await gateway.close()
