"""A private HAProxy in TCP mode that passes each new connection to the next of several private servers."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from databases import folders
from databases.database import Database
from databases.server import Launch, program, running

_SETTINGS = """
defaults
    mode tcp
    balance roundrobin
    timeout connect 5s
    timeout client 10m
    timeout server 10m
listen all
    bind 127.0.0.1:{port}
"""


@contextmanager
def balancer_of(*servers: Database) -> Iterator[Database]:
    """With the first one's account: the others must know it too."""
    account = folders.our_account()
    found = program("haproxy", "haproxy", "/usr/sbin")
    with folders.run_folder(folders.place_for("haproxy", account), account) as folder:
        settings = folder / "haproxy.cfg"

        def command(port: int) -> list[str]:
            lines = [f"    server s{at} 127.0.0.1:{server.port}" for at, server in enumerate(servers)]
            settings.write_text(_SETTINGS.format(port=port) + "\n".join(lines) + "\n")
            return [found, "-db", "-f", str(settings)]

        def database(port: int) -> Database:
            client = (f"--port={port}" if word.startswith("--port=") else word for word in servers[0].client)
            return replace(servers[0], port=port, client=tuple(client))

        with running(Launch(account, command, database, folder / "log", signal.SIGTERM)) as ready:
            yield ready
