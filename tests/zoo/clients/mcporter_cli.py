"""mcporter's command line, with a configuration file as other clients have it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from command_lines import pairs, run
from driving import Job, drive


class Client:
    def __init__(self, config: Path) -> None:
        self._config = ("--config", str(config))

    async def tools(self) -> Any:
        return (await run("mcporter", *self._config, "list", "x", "--schema", "--json"))["tools"]

    async def call(self, name: str, arguments: dict[str, Any]) -> Any:
        return await run(
            "mcporter", *self._config, "call", f"x.{name}", *pairs(arguments), "--output", "json"
        )


@asynccontextmanager
async def connect(job: Job) -> AsyncIterator[Any]:
    if job.url:
        server: Any = {"url": job.url, "allowHttp": True}
    else:
        command, *args = job.command
        server = {"command": command, "args": args, "env": job.env}
    config = Path("mcporter.json").absolute()
    config.write_text(json.dumps({"mcpServers": {"x": server}, "imports": []}))
    yield Client(config)


drive(connect)
