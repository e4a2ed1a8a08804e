"""MCP servers behind us: stdio children, Streamable HTTP, legacy HTTP+SSE; their life, health and return.

Owns processes and sockets towards upstreams; each `link` starts its own server again after a crash. Must not
know clients or recording: relay asks through `ports.Upstream`, `wire.connection` tracks the requests.

    mcp_upstream    one server as relay sees it
    server_lines    its connections, and which of them serves whom
    link            the life of one connection, and what goes over it
    transport       the border between a connection's rules and what moves its bytes
    child, http     the transports: a stdio process; Streamable HTTP and legacy HTTP+SSE
"""
