"""A stdio server of the Python SDK with one tool, as most people write them."""

from mcp.server import MCPServer

server = MCPServer("bench")


@server.tool()
def echo(text: str) -> str:
    return text


server.run("stdio")
