"""MCP servers behind us: stdio children, Streamable HTTP, legacy HTTP+SSE; their life, health and return.

Owns processes, sockets towards upstreams, and the supervisor that brings a crashed one back. Must not know
clients or recording: relay asks through `ports.Upstream`, `wire.Connection` tracks the requests.
"""
