"""The official SDK's server, as a process of its own: `python sdk_server.py streamable|json|sse PORT`.

Prints its port. A script, and the context manager that runs it.
"""

import asyncio
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


@asynccontextmanager
async def sdk_server(kind: str, port: int = 0) -> AsyncIterator[str]:
    """The URL of a running one."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, __file__, kind, str(port),
        stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    assert process.stdout is not None
    try:
        async with asyncio.timeout(60):
            port = int(await process.stdout.readline())
        yield f"http://127.0.0.1:{port}/{'sse' if kind == 'sse' else 'mcp'}"
    finally:
        process.kill()
        await process.communicate()


def main(kind: str, port: int) -> None:
    import uvicorn
    from mcp.server.mcpserver import Context, MCPServer

    server = MCPServer("reference")

    @server.tool()
    def add(a: int, b: int) -> int:
        return a + b

    @server.tool()
    async def count(to: int, ctx: Context) -> str:
        for number in range(to):
            await ctx.report_progress(number + 1, to)
        return "counted"

    @server.tool(name="größe")
    def size(text: str) -> int:
        return len(text)

    app = server.sse_app() if kind == "sse" else server.streamable_http_app(json_response=kind == "json")
    listening = socket.create_server(("127.0.0.1", port))
    print(listening.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="error")).run(sockets=[listening])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
