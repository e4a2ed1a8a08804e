"""A private PgBouncer in transaction mode, in front of a private PostgreSQL."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from databases import folders
from databases.database import Database
from databases.server import Launch, program, running, unpacked

# A few connections for all: transactions of one client run on whichever is free.
_SETTINGS = """
[databases]
* = host=127.0.0.1 port={server_port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = {users}
auth_user = callgate
pool_mode = transaction
default_pool_size = 4
max_client_conn = 500
"""
VARIABLE = "CALLGATE_TEST_PGBOUNCER"


@contextmanager
def pooler_of(server: Database) -> Iterator[Database]:
    account = folders.unprivileged_account("postgres")
    root = unpacked(VARIABLE) or Path("/")
    found = program("pgbouncer", "pgbouncer", root / "usr/sbin")
    with folders.run_folder(folders.place_for("pgbouncer", account), account) as folder:
        users, settings = folder / "users.txt", folder / "pgbouncer.ini"
        users.write_text(f'"callgate" "{server.password}"\n')

        def command(port: int) -> list[str]:
            settings.write_text(_SETTINGS.format(server_port=server.port, port=port, users=users))
            for file in (users, settings):
                file.chmod(0o600)
                account.own(file)
            return [found, str(settings)]

        def database(port: int) -> Database:
            client = tuple(f"--port={port}" if word.startswith("--port=") else word for word in server.client)
            return replace(server, port=port, client=client)

        with running(Launch(account, command, database, folder / "pooler.log", signal.SIGTERM)) as ready:
            yield ready
