"""A port for a server that is not there yet, or goes and comes back: nobody else is given it meanwhile."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def kept_port() -> Iterator[int]:
    """It is bound, and refuses. A server that sets SO_REUSEADDR, as all of ours do, may listen on it."""
    with socket.socket() as keeping:
        keeping.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        keeping.bind(("127.0.0.1", 0))
        yield keeping.getsockname()[1]
