"""Requests to HTTP servers: MCP servers behind us, other gateways of ours, and the one that our commands ask.

Owns sockets, keep-alive and what may be sent twice (docs/decisions/0010-http-client.md). Must not know
MCP's messages, nor who asks.

    client      one pool for each origin, and a simple awaitable on top
    pool        which request gets which connection; `dial` opens one
    connection  HTTP/1.1 on one socket
    exchange    one request and its answer, as callbacks
    address     where a server is, and the heads prepared for it
"""
