"""The transports over HTTP: Streamable HTTP and legacy HTTP+SSE. What carries them is `http_client`."""
