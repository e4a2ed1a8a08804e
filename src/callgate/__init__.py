"""Callgate: one MCP endpoint in front of your databases and MCP servers.

Start reading at docs/architecture.md; the rooms of this package are described there.
"""

__version__ = "0.1.0"
