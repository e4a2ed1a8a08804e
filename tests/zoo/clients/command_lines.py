"""Clients that are a command line: one process for each request, JSON on its output. Not a driver itself."""

import asyncio
import json
from typing import Any


async def run(*command: str) -> Any:
    process = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    said, wrong = await process.communicate()
    text = said.decode().strip()
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        return {"exit code": process.returncode, "said": text or " ".join(wrong.decode().split())}


def pairs(arguments: dict[str, Any]) -> list[str]:
    return [
        f"{key}={value if isinstance(value, str) else json.dumps(value)}" for key, value in arguments.items()
    ]
