"""An ASGI application on a free port of this machine, which it prints."""

import socket
from typing import Any

import uvicorn


def serve_app(app: Any) -> None:
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    print(listener.getsockname()[1], flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listener])
