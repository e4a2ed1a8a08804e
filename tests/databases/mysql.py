"""A private MySQL server, from a folder that scripts/test-engines has unpacked it into."""

import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from databases import folders
from databases.database import Database
from databases.server import Launch, running

# As for MariaDB: nothing has to survive a power cut.
_STORAGE = (
    "--innodb-flush-method=nosync",
    "--innodb-flush-log-at-trx-commit=0",
    "--innodb-doublewrite=0",
    "--innodb-redo-log-capacity=8M",
    "--innodb-buffer-pool-size=64M",
    "--innodb-use-native-aio=0",
    "--skip-log-bin",
)


# The tests count with MariaDB's tables seq_1_to_N, which MySQL lacks: views of the same names do it there.
_COUNTS = (5, 9, 10, 11, 30, 100, 199, 200, 201, 400, 500, 700, 1000, 3000, 1_000_000)


def is_mysql(root: Path) -> bool:
    return not (root / "usr/sbin/mariadbd").exists() and (root / "usr/sbin/mysqld").exists()


@contextmanager
def mysql_server(root: Path, *options: str) -> Iterator[Database]:
    account = folders.our_account()
    place = folders.place_for("mysql", account)
    with folders.run_folder(place, account) as folder:
        sockets = folders.socket_folder_of(folder)
        data, readable, first_statements = folder / "data", folder / "files", folder / "first.sql"
        folders.copy(_template(root, place, account), data, account)
        readable.mkdir()
        password = secrets.token_hex(8)
        first_statements.write_text(
            "CREATE DATABASE IF NOT EXISTS callgate;\n"
            f"CREATE USER IF NOT EXISTS callgate@'%' IDENTIFIED BY '{password}';\n"
            "GRANT ALL ON *.* TO callgate@'%' WITH GRANT OPTION;\n" + "".join(_sequences())
        )

        def command(port: int) -> list[str]:
            return [
                *_server(root, account),
                f"--datadir={data}",
                f"--socket={sockets / 'mysql.sock'}",
                f"--pid-file={folder / 'pid'}",
                f"--init-file={first_statements}",
                f"--secure-file-priv={readable}",  # it may run as root: no statement may touch other files
                "--bind-address=127.0.0.1",
                f"--port={port}",
                "--mysqlx=0",
                # As the tests' MariaDB: encrypted only where a test says so. Passwords go by RSA then.
                *(() if any(option.startswith("--ssl") for option in options) else ("--tls-version=",)),
                "--skip-name-resolve",
                "--default-time-zone=+00:00",
                *_STORAGE,
                *options,
            ]

        def database(port: int) -> Database:
            address = ("--protocol=tcp", "--host=127.0.0.1", f"--port={port}", "--user=callgate")
            return Database(
                flavour="mysql",
                scheme="mysql",
                port=port,
                password=password,
                socket=sockets / "mysql.sock",
                client=(
                    str(root / "usr/bin/mysql"),
                    "--no-defaults",
                    *address,
                    "--get-server-public-key",
                    "--batch",
                    "--skip-column-names",
                    "--default-character-set=utf8mb4",
                    f"--character-sets-dir={_shared_files(root) / 'charsets'}",
                ),
                password_variable="MYSQL_PWD",
            )

        with running(Launch(account, command, database, folder / "server.log", signal.SIGKILL)) as ready:
            yield ready


def _sequences() -> list[str]:
    """One line each, as --init-file wants it."""
    lines = [
        "CREATE TABLE IF NOT EXISTS callgate.digits (d INT PRIMARY KEY);\n",
        f"INSERT IGNORE INTO callgate.digits VALUES {', '.join(f'({digit})' for digit in range(10))};\n",
    ]
    for count in _COUNTS:
        places = len(str(count - 1))
        number = " + ".join(f"{10**place} * d{place}.d" for place in range(places))
        tables = " STRAIGHT_JOIN ".join(f"callgate.digits d{place}" for place in reversed(range(places)))
        order = " ORDER BY seq" if count < 1_000_000 else ""  # the largest must not be sorted first
        lines.append(
            f"CREATE OR REPLACE SQL SECURITY INVOKER VIEW callgate.seq_1_to_{count} AS"
            f" SELECT 1 + {number} AS seq FROM {tables} WHERE {number} < {count}{order};\n"
        )
    return lines


def _server(root: Path, account: folders.Account) -> list[str]:
    plugins = next(iter(root.glob("usr/lib/mysql/plugin")), root)
    return [
        str(root / "usr/sbin/mysqld"),
        "--no-defaults",
        f"--user={account.name}",  # as root it starts only when told so
        f"--basedir={root / 'usr'}",
        f"--lc-messages-dir={_shared_files(root)}",
        f"--character-sets-dir={_shared_files(root) / 'charsets'}",
        f"--plugin-dir={plugins}",
    ]


def _shared_files(root: Path) -> Path:
    return next(iter(root.glob("usr/share/mysql*/charsets"))).parent


def _template(root: Path, place: Path, account: folders.Account) -> Path:
    def initialise(folder: Path) -> None:
        command = [*_server(root, account), "--initialize-insecure", f"--datadir={folder}", *_STORAGE]
        done = subprocess.run(command, capture_output=True, text=True, cwd="/")
        assert done.returncode == 0, done.stdout + done.stderr

    version = (root / "versions.txt").read_text().split()[1]
    return folders.template(place, version, account, initialise)
