"""A private PostgreSQL server: the machine's own, or the one that scripts/test-engines unpacked."""

import hashlib
import re
import secrets
import signal
import subprocess
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

from databases import folders
from databases.database import Database
from databases.server import Launch, program, running, unpacked

SETTINGS = (
    "listen_addresses=127.0.0.1",
    # Nothing here has to survive a power cut.
    "fsync=off",
    "synchronous_commit=off",
    "full_page_writes=off",
    "shared_buffers=64MB",
    "timezone=UTC",
    "log_timezone=UTC",
)
VARIABLE = "CALLGATE_TEST_POSTGRES"


@contextmanager
def postgres_server(*settings: str) -> Iterator[Database]:
    """`settings` of a test that needs a server of its own, such as ssl=on."""
    account = folders.unprivileged_account("postgres")
    server = _program("postgres")
    place = folders.place_for("postgres", account)
    with folders.run_folder(place, account) as folder:
        data = folder / "data"
        folders.copy(_template(server, place, account), data, account)
        password = secrets.token_hex(8)
        _run_alone(server, data, account, f"ALTER ROLE callgate PASSWORD '{password}'")

        with running(_launch(account, folder, data, password, settings)) as ready:
            yield ready


def new_database(server: Database, prefix: str) -> Database:
    """An empty one, under a name of its own."""
    name = f"{prefix}_{uuid.uuid4().hex[:12]}"
    server.run(f"CREATE DATABASE {name} {_cheapest_copy(server)}")
    return replace(server, database=name)


@cache
def _cheapest_copy(server: Database) -> str:
    """Since PostgreSQL 15 a new database is written to the log page by page, unless somebody minds."""
    return "STRATEGY file_copy" if int(server.run("SHOW server_version_num")) >= 150_000 else ""


@contextmanager
def standby_of(primary: Database, *settings: str, through_port: int | None = None) -> Iterator[Database]:
    """A copy of it that follows by streaming, through that port, until it is promoted."""
    account = folders.unprivileged_account("postgres")
    with folders.run_folder(folders.place_for("postgres", account), account) as folder:
        data = folder / "data"
        port = through_port or primary.port
        words = f"host=127.0.0.1 port={port} user={primary.user} password={primary.password}"
        copied = account.command(
            _program("pg_basebackup"), "-R", "--checkpoint=fast", "--no-sync", "-D", str(data), "-d", words
        )
        done = subprocess.run(copied, capture_output=True, text=True, cwd="/", timeout=120)
        assert done.returncode == 0, done.stderr
        with running(_launch(account, folder, data, primary.password, settings)) as ready:
            yield replace(ready, database=primary.database)


def _launch(
    account: folders.Account, folder: Path, data: Path, password: str, settings: tuple[str, ...]
) -> Launch:
    sockets = folders.socket_folder_of(folder)
    server, client = _program("postgres"), _program("psql")

    def command(port: int) -> list[str]:
        options = [*SETTINGS, *settings, f"port={port}", f"unix_socket_directories={sockets}"]
        return [server, "-D", str(data), *(word for option in options for word in ("-c", option))]

    def database(port: int) -> Database:
        address = ("--host=127.0.0.1", f"--port={port}", "--username=callgate", "--no-password")
        output = ("--no-align", "--tuples-only", "--field-separator=\t", "--quiet", "--set=ON_ERROR_STOP=1")
        return Database(
            scheme="postgresql",
            port=port,
            password=password,
            socket=sockets,
            client=(client, "--no-psqlrc", *address, *output),
            password_variable="PGPASSWORD",
        )

    return Launch(account, command, database, folder / "server.log", signal.SIGQUIT)


def _program(name: str) -> str:
    """Debian has the programs of each version in a folder of its own; the newest is taken."""
    root = unpacked(VARIABLE) or Path("/")
    versions = sorted(
        (root / "usr/lib/postgresql").glob("*/bin"), key=lambda folder: int(folder.parent.name), reverse=True
    )
    return program(name, "postgresql", *versions)


def _template(server: str, place: Path, account: folders.Account) -> Path:
    initdb = [
        _program("initdb"),
        "--username=callgate",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C.UTF-8",
    ]
    initdb += ["--no-sync", "--wal-segsize=1"]  # a megabyte: the folder is copied each run
    version = subprocess.run([server, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"\d+(\.\d+)+|\d+\w+", version)
    assert found is not None, version
    key = f"{found[0]}-{hashlib.sha256(' '.join(initdb).encode()).hexdigest()[:8]}"

    def initialise(folder: Path) -> None:
        # initdb asks for a password to go with --auth; each run sets its own.
        password = folder.with_suffix(".password")
        password.write_text(secrets.token_hex(8))
        password.chmod(0o600)
        account.own(password)
        try:
            command = account.command(*initdb, f"--pwfile={password}", f"--pgdata={folder}")
            done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        finally:
            password.unlink()
        assert done.returncode == 0, done.stdout + done.stderr
        _run_alone(server, folder, account, "CREATE DATABASE callgate")

    return folders.template(place, key, account, initialise)


def _run_alone(server: str, data: Path, account: folders.Account, statement: str) -> None:
    """Run a statement without a server, in PostgreSQL's single-user mode."""
    command = account.command(server, "--single", "-D", data, "-c", "fsync=off", "postgres")
    done = subprocess.run(command, input=f"{statement}\n", capture_output=True, text=True, cwd="/")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "ERROR" not in done.stderr, done.stderr  # single-user mode reports an error and goes on
