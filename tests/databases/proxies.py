"""What may stand between us and a server: PgBouncer, MySQL Router or HAProxy, in front of a private server.

A test's witness still asks the server itself: only what Callgate opens goes through the proxy.
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from pathlib import Path

from databases import folders
from databases.database import Database
from databases.pgbouncer import pooler_of
from databases.server import Launch, running

# The kind of the proxy, a colon, and the folder that scripts/test-engines has unpacked it into.
VARIABLE = "CALLGATE_TEST_PROXY"

# One server behind it; TLS is ended at the proxy and begun there, which is what Router does by default.
_ROUTER = """
[DEFAULT]
plugin_folder = {plugins}
runtime_folder = {folder}
data_folder = {folder}
logging_folder =
[logger]
level = INFO
[routing:only]
bind_address = 127.0.0.1
bind_port = {port}
destinations = 127.0.0.1:{server_port}
routing_strategy = first-available
protocol = classic
client_ssl_mode = DISABLED
server_ssl_mode = PREFERRED
max_connections = 512
"""
_HAPROXY = """
global
    maxconn 1000
defaults
    mode tcp
    timeout connect 2s
    timeout client 10m
    timeout server 10m
listen only
    bind 127.0.0.1:{port}
    server first 127.0.0.1:{server_port} check inter 200ms rise 1
"""


@contextmanager
def in_front_of(server: Database) -> Iterator[Database]:
    """The proxy that scripts/test-engines asks for; without one the server itself."""
    kind, _, root = os.environ.get(VARIABLE, "").partition(":")
    if not kind:
        yield server
        return
    make = {"pgbouncer": _pgbouncer, "router": _router, "haproxy": _haproxy}[kind]
    with make(server, Path(root)) as proxy:
        yield replace(server, port=proxy.port, socket=Path("/nowhere"))


def _pgbouncer(server: Database, _root: Path) -> AbstractContextManager[Database]:
    return pooler_of(server)  # its program is told by a variable of its own


def _router(server: Database, root: Path) -> AbstractContextManager[Database]:
    plugins = next(iter(root.glob("usr/lib/**/mysqlrouter/plugin"))).resolve()

    def command(folder: Path, port: int) -> list[str]:
        settings = folder / "router.conf"
        settings.write_text(
            _ROUTER.format(plugins=plugins, folder=folder, port=port, server_port=server.port)
        )
        return [str(root / "usr/bin/mysqlrouter"), f"--config={settings}"]

    return _running(server, command)


def _haproxy(server: Database, root: Path) -> AbstractContextManager[Database]:
    def command(folder: Path, port: int) -> list[str]:
        settings = folder / "haproxy.cfg"
        settings.write_text(_HAPROXY.format(port=port, server_port=server.port))
        return [str(root / "usr/sbin/haproxy"), "-f", str(settings)]

    return _running(server, command)


@contextmanager
def _running(server: Database, command: Callable[[Path, int], list[str]]) -> Iterator[Database]:
    account = folders.our_account()
    with folders.run_folder(folders.place_for("proxies", account), account) as folder:

        def database(port: int) -> Database:
            client = tuple(f"--port={port}" if word.startswith("--port=") else word for word in server.client)
            return replace(server, port=port, client=client)

        launch = Launch(
            account, lambda port: command(folder, port), database, folder / "proxy.log", signal.SIGTERM
        )
        with running(launch) as ready:
            yield ready
