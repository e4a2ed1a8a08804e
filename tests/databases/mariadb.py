"""A private MariaDB server."""

import hashlib
import re
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from databases import folders
from databases.database import Database
from databases.server import Launch, program, running

# No fsync, no doublewrite, small files: nothing has to survive a power cut, and each run copies the files.
# Native AIO (io_uring) is often forbidden in containers.
STORAGE = (
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-log-file-size=8M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-use-native-aio=0",
)


@contextmanager
def mariadb_server(*options: str) -> Iterator[Database]:
    """`options` of a test that needs a server of its own, such as --ssl-cert."""
    account = folders.our_account()
    server = program("mariadbd", "mariadb-server-core", "/usr/sbin")
    client = program("mariadb", "mariadb-client-core")
    place = folders.place_for("mariadb", account)
    with folders.run_folder(place, account) as folder:
        sockets = folders.socket_folder_of(folder)
        data, readable, first_statements = folder / "data", folder / "files", folder / "first.sql"
        folders.copy(_template(server, place, account), data, account)
        readable.mkdir()
        password = secrets.token_hex(8)
        first_statements.write_text(
            "CREATE DATABASE callgate;\n"
            f"CREATE USER callgate@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL ON *.* TO callgate@'%' WITH GRANT OPTION;\n"
        )

        def command(port: int) -> list[str]:
            return [
                server,
                "--no-defaults",
                f"--user={account.name}",  # as root it starts only when told so
                f"--datadir={data}",
                f"--socket={sockets / 'mariadb.sock'}",
                f"--pid-file={folder / 'pid'}",
                f"--init-file={first_statements}",
                f"--secure-file-priv={readable}",  # it may run as root: no statement may touch other files
                "--bind-address=127.0.0.1",
                f"--port={port}",
                "--skip-name-resolve",
                "--character-set-server=utf8mb4",
                "--default-time-zone=+00:00",
                *STORAGE,
                *options,
            ]

        def database(port: int) -> Database:
            address = ("--protocol=tcp", "--host=127.0.0.1", f"--port={port}", "--user=callgate")
            return Database(
                scheme="mysql",
                port=port,
                password=password,
                socket=sockets / "mariadb.sock",
                client=(
                    client,
                    "--no-defaults",
                    *address,
                    "--batch",
                    "--skip-column-names",
                    "--default-character-set=utf8mb4",
                ),
                password_variable="MYSQL_PWD",
            )

        with running(Launch(account, command, database, folder / "server.log", signal.SIGKILL)) as ready:
            yield ready


def _template(server: str, place: Path, account: folders.Account) -> Path:
    install = [
        program("mariadb-install-db", "mariadb-server-core"),
        "--no-defaults",
        f"--user={account.name}",
    ]
    install += ["--skip-test-db", "--auth-root-authentication-method=normal", *STORAGE]
    version = subprocess.run([server, "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"Ver (\S+)", version)
    assert found is not None, version
    key = f"{found[1]}-{hashlib.sha256(' '.join(install).encode()).hexdigest()[:8]}"

    def initialise(folder: Path) -> None:
        done = subprocess.run([*install, f"--datadir={folder}"], capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr

    return folders.template(place, key, account, initialise)


def plugin_folder(name: str) -> Path:
    """Where a plugin of the whole server's package lies, which `mariadb-server-core` does not bring."""
    fetched = Path(__file__).parents[2] / ".cache" / "mariadb-plugins"
    for folder in (Path("/usr/lib/mysql/plugin"), fetched / "usr/lib/mysql/plugin"):
        if (folder / name).exists():
            return folder
    raise AssertionError(f"{name} is missing: install mariadb-server, or let scripts/test fetch it")
