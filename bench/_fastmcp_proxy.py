"""FastMCP's own proxy at its best setting, in FastMCP's environment: _fastmcp_proxy.py UPSTREAM_URL PORT.

Best of what was tried at 64 connections: one connected client for all (337 req/s, FastMCP warns that sessions
share it), against a client for each request, which is the default (32 req/s stateless, 26 with sessions).
"""

import asyncio
import sys

from fastmcp import Client  # pyright: ignore[reportMissingImports]
from fastmcp.server import create_proxy  # pyright: ignore[reportMissingImports]


async def main() -> None:
    async with Client(sys.argv[1]) as client:
        await create_proxy(client).run_http_async(
            show_banner=False,
            host="127.0.0.1",
            port=int(sys.argv[2]),
            log_level="error",
            json_response=True,
            stateless_http=True,
            uvicorn_config={"access_log": False},
        )


asyncio.run(main())
