"""Upstreams over HTTP: the client, and its two transports (Streamable HTTP and legacy HTTP+SSE)."""
