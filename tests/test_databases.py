"""The test databases are what the other tests take them for: real, writable, reachable only from here."""

from pathlib import Path

import pytest
from databases.database import Database


@pytest.fixture(params=["mariadb", "postgres"])
def database(request: pytest.FixtureRequest) -> Database:
    return request.getfixturevalue(request.param)


def test_mariadb_is_a_real_mariadb(mariadb: Database) -> None:
    assert "MariaDB" in mariadb.run("SELECT version()")


def test_postgres_is_a_real_postgresql(postgres: Database) -> None:
    assert postgres.run("SELECT version()").startswith("PostgreSQL ")


def test_a_written_row_is_read_back(database: Database) -> None:
    database.run(
        "CREATE TABLE greeting (id int, word varchar(20)); INSERT INTO greeting VALUES (1, 'grüezi')"
    )
    try:
        assert database.run("SELECT id, word FROM greeting") == "1\tgrüezi"
    finally:
        database.run("DROP TABLE greeting")


def test_a_failing_statement_fails_the_test(database: Database) -> None:
    with pytest.raises(AssertionError, match="no_such_table"):
        database.run("SELECT * FROM no_such_table")


def test_the_server_listens_on_loopback_only(database: Database) -> None:
    assert _listening_addresses(database.port) == {"0100007F"}  # 127.0.0.1 as the kernel writes it


def test_the_socket_path_fits_into_a_socket_address(database: Database) -> None:
    socket = database.socket if database.socket.is_socket() else database.socket / f".s.PGSQL.{database.port}"
    assert socket.is_socket()
    assert len(bytes(socket)) <= 107


def _listening_addresses(port: int) -> set[str]:
    listening = "0A"
    addresses = set()
    for table in (Path("/proc/net/tcp"), Path("/proc/net/tcp6")):
        for line in table.read_text().splitlines()[1:] if table.exists() else ():
            _, local, _, state, *_ = line.split()
            address, _, hexadecimal_port = local.partition(":")
            if state == listening and int(hexadecimal_port, 16) == port:
                addresses.add(address)
    return addresses
