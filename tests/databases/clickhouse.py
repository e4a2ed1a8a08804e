"""A private ClickHouse: the engine of PyPI's `chdb` behind our own HTTP (`clickhouse_engine.py`).

Debian's ClickHouse is of 2018. CALLGATE_TEST_CLICKHOUSE=http://user:password@host:8123 has the tests use a
real server instead; those that make it fail still use the engine.
"""

import fcntl
import http.client
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from base64 import b64encode
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlencode, urlsplit

from databases import folders
from databases.database import Database
from databases.server import Launch, running

_PACKAGE = "chdb-core==26.9.0"
_READY_S = 60.0


@dataclass(frozen=True)
class ClickhouseDatabase(Database):
    def run(self, statements: str, *, database: str | None = None, **settings: str) -> str:
        """One statement. Rows are lines, columns parted by tabs."""
        params = {"database": database or self.database, "wait_end_of_query": "1", **settings}
        return self._asked(f"/?{urlencode(params)}", statements.encode())

    def insert(self, query: str, rows: bytes, **settings: str) -> None:
        params = {"database": self.database, "query": query, **settings}
        self._asked(f"/?{urlencode(params)}", rows)

    def fail_next(self, faults: Sequence[str]) -> int:
        """What becomes of the next inserts (`clickhouse_engine`). How many failed so far."""
        told = self._asked(f"/faults?{urlencode({'plan': ','.join(faults)})}", b"")
        return int(told)

    def _asked(self, path: str, body: bytes) -> str:
        connection = http.client.HTTPConnection(self.host, self.port, timeout=_READY_S)
        try:
            key = b64encode(f"{self.user}:{self.password}".encode()).decode()
            connection.request("POST", path, body, {"Authorization": f"Basic {key}"})
            answer = connection.getresponse()
            told = answer.read().decode(errors="replace").removesuffix("\n")
        finally:
            connection.close()
        assert answer.status == 200, told
        return told


def given_server() -> ClickhouseDatabase | None:
    """The real server that the environment names."""
    address = os.environ.get("CALLGATE_TEST_CLICKHOUSE")
    if not address:
        return None
    url = urlsplit(address)
    user, password = unquote(url.username or "default"), unquote(url.password or "")
    return _database(url.port or 8123, password, Path(), url.hostname or "127.0.0.1", user)


@contextmanager
def clickhouse_server(folder: Path | None = None) -> Iterator[ClickhouseDatabase]:
    """`folder`: where its files lie; of a test that ends it and starts another on the same files."""
    package = _installed()
    account = folders.our_account()
    password = secrets.token_hex(8)
    with folders.run_folder(folders.place_for("clickhouse", account), account) as passing:
        data = folder or passing / "data"
        written = passing / "password"
        written.touch(mode=0o600)
        written.write_text(password)

        def command(port: int) -> list[str]:
            program = str(Path(__file__).with_name("clickhouse_engine.py"))
            found = ("env", f"PYTHONPATH={package}", sys.executable, "-P")
            return [*found, program, str(data), str(port), str(written)]

        def database(port: int) -> ClickhouseDatabase:
            return _database(port, password, data)

        launch = Launch(account, command, database, passing / "server.log", signal.SIGKILL)
        with running(launch) as ready:
            assert isinstance(ready, ClickhouseDatabase)
            yield ready


def _database(
    port: int, password: str, data: Path, host: str = "127.0.0.1", user: str = "callgate"
) -> ClickhouseDatabase:
    return ClickhouseDatabase("clickhouse", port, password, data, (), "", host, user, "default")


def _installed() -> Path:
    """The folder that Python finds the engine in: below .cache, once for each version."""
    place = folders.CACHE / "clickhouse" / "packages"
    ready = place / _PACKAGE
    if ready.exists():
        return ready
    place.mkdir(parents=True, exist_ok=True)
    with (place / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # half a gigabyte: not twice
        if not ready.exists():
            draft = Path(tempfile.mkdtemp(prefix="draft-", dir=place))
            # Without its dependencies: pandas and pyarrow are for what the tests do not use.
            command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", draft]
            done = subprocess.run([*command, "--disable-pip-version-check", _PACKAGE], capture_output=True)
            if done.returncode:
                shutil.rmtree(draft, ignore_errors=True)
            assert done.returncode == 0, done.stderr.decode(errors="replace")
            draft.rename(ready)
    return ready
