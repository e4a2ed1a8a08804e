"""A private MariaDB server: the machine's own, or the one that scripts/test-engines unpacked.

It may also have unpacked MySQL: then the tests of MariaDB run on that.
"""

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
from databases.mysql import is_mysql, mysql_server
from databases.server import Launch, program, running, unpacked

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
VARIABLE = "CALLGATE_TEST_MYSQL"


@contextmanager
def mariadb_server(*options: str) -> Iterator[Database]:
    """`options` of a test that needs a server of its own, such as --ssl-cert."""
    root = unpacked(VARIABLE)
    if root is not None and is_mysql(root):
        with mysql_server(root, *options) as other:
            yield other
        return
    account = folders.our_account()
    server = program("mariadbd", "mariadb-server-core", *_folders("usr/sbin"), "/usr/sbin")
    client = program("mariadb", "mariadb-client-core", *_folders("usr/bin"))
    place = folders.place_for("mariadb", account)
    with folders.run_folder(place, account) as folder:
        sockets = folders.socket_folder_of(folder)
        data, readable, first_statements = folder / "data", folder / "files", folder / "first.sql"
        temporary = folder / "temporary"
        folders.copy(_template(server, place, account), data, account)
        readable.mkdir()
        temporary.mkdir()
        account.own(temporary)
        password = secrets.token_hex(8)
        first_statements.write_text(
            "CREATE DATABASE IF NOT EXISTS callgate;\n"
            f"CREATE USER IF NOT EXISTS callgate@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL ON *.* TO callgate@'%' WITH GRANT OPTION;\n"
        )

        def command(port: int) -> list[str]:
            return [
                server,
                "--no-defaults",
                f"--user={account.name}",  # as root it starts only when told so
                f"--datadir={data}",
                f"--tmpdir={temporary}",  # one that starts deletes the temporary tables of all that share it
                f"--socket={sockets / 'mariadb.sock'}",
                f"--pid-file={folder / 'pid'}",
                f"--init-file={first_statements}",
                f"--secure-file-priv={readable}",  # it may run as root: no statement may touch other files
                "--bind-address=127.0.0.1",
                f"--port={port}",
                "--skip-name-resolve",
                "--character-set-server=utf8mb4",
                "--default-time-zone=+00:00",
                *_base(),
                # From 11.4 on it makes a certificate by itself; tests say when they want one.
                *(() if any(option.startswith("--ssl") for option in options) else ("--skip-ssl",)),
                *STORAGE,
                *options,
            ]

        def database(port: int) -> Database:
            address = ("--protocol=tcp", "--host=127.0.0.1", f"--port={port}", "--user=callgate")
            return Database(
                flavour="mariadb",
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


def _folders(name: str) -> tuple[Path, ...]:
    root = unpacked(VARIABLE)
    return () if root is None else (root / name,)


def _base() -> tuple[str, ...]:
    """Where an unpacked server finds its messages and plugins."""
    root = unpacked(VARIABLE)
    if root is None:
        return ()
    files = root / "usr"
    return (
        f"--basedir={files}",
        f"--plugin-dir={files / 'lib' / 'mysql' / 'plugin'}",
        f"--lc-messages-dir={files / 'share' / 'mariadb'}",
        f"--character-sets-dir={files / 'share' / 'mariadb' / 'charsets'}",
    )


def _template(server: str, place: Path, account: folders.Account) -> Path:
    install = [
        program("mariadb-install-db", "mariadb-server-core", *_folders("usr/bin")),
        "--no-defaults",
        f"--user={account.name}",
    ]
    install += ["--skip-test-db", "--auth-root-authentication-method=normal", *STORAGE]
    install += [f"--basedir={folder.parent}" for folder in _folders("usr/bin")]
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
