"""Somebody else listens where the database should be, speaks TLS with a certificate of his own and asks for
the password itself. He gets it over a Unix socket or from who verified his certificate, and never otherwise.
"""

import socket
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from sql.network.certificates import Certificates, make_certificates
from sql.network.mysql.test_mysql_login import CAPABILITIES, OK, SEED, greeting

from callgate.model.errors import SourceError
from callgate.sql.drivers.network.stream import context_of
from callgate.sql.engines.engine import find_engine
from callgate.sql.engines.mysql.driver.driver import mysql_driver
from callgate.sql.engines.mysql.driver.packets import SSL, framed
from callgate.sql.engines.postgres.driver.driver import postgres_driver
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress, Tls, TlsMode

PASSWORD = "correct horse battery"
# What follows on a connection: given a way to go on in TLS, returns what was told in answer to the question.
Script = Callable[[socket.socket, ssl.SSLContext], bytes]
Meet = Callable[[Tls], Awaitable[tuple[list[bytes], str]]]


def _take(line: socket.socket, size: int) -> bytes:
    """Exactly so many: the next byte may belong to TLS already."""
    taken = b""
    while len(taken) < size:
        piece = line.recv(size - len(taken))
        if not piece:
            raise ConnectionError
        taken += piece
    return taken


def _packet(line: socket.socket) -> tuple[int, bytes]:
    head = _take(line, 4)
    return head[3], _take(line, int.from_bytes(head[:3], "little"))


def mysql_asks(question: bytes) -> Script:
    def script(line: socket.socket, context: ssl.SSLContext) -> bytes:
        line.sendall(framed(greeting("caching_sha2_password", CAPABILITIES | SSL), 0))
        _packet(line)
        with context.wrap_socket(line, server_side=True) as secret_line:
            number, _ = _packet(secret_line)
            secret_line.sendall(framed(question, number + 1))
            number, answer = _packet(secret_line)
            secret_line.sendall(framed(OK, number + 1))
            return answer

    return script


def postgres_asks(line: socket.socket, context: ssl.SSLContext) -> bytes:
    _take(line, 8)
    line.sendall(b"S")
    with context.wrap_socket(line, server_side=True) as secret_line:
        _take(secret_line, int.from_bytes(_take(secret_line, 4), "big") - 4)
        secret_line.sendall(b"R" + (8).to_bytes(4, "big") + (3).to_bytes(4, "big"))
        head = _take(secret_line, 5)
        return _take(secret_line, int.from_bytes(head[1:], "big") - 4)


@contextmanager
def rogue_listener(script: Script, certificates: Certificates) -> Iterator[tuple[int, list[bytes]]]:
    """His port, and all that he heard."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificates.certificate, certificates.key)
    heard: list[bytes] = []
    listener = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        while True:
            try:
                line, _ = listener.accept()
            except OSError:
                return
            with suppress(OSError), line:
                line.settimeout(10)  # finds a hang, decides nothing
                heard.append(script(line, context))

    thread = threading.Thread(target=serve)
    thread.start()
    try:
        yield listener.getsockname()[1], heard
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


ROGUES = {
    "caching_sha2_password": (mysql_driver, "mysql", mysql_asks(b"\x01\x04")),
    "mysql_clear_password": (mysql_driver, "mysql", mysql_asks(b"\xfemysql_clear_password\0" + SEED + b"\0")),
    "postgres_password": (postgres_driver, "postgres", postgres_asks),
}


@pytest.fixture
def certificates(tmp_path: Path) -> Certificates:
    return make_certificates(tmp_path)


@pytest.fixture(params=ROGUES)
def rogue(request: pytest.FixtureRequest, certificates: Certificates) -> Meet:
    """Open a source towards the rogue; returns what he heard, and what the operator is told."""
    make, engine, script = ROGUES[request.param]

    async def meet(tls: Tls) -> tuple[list[bytes], str]:
        found = find_engine(engine)
        assert found is not None
        with rogue_listener(script, certificates) as (port, heard):
            address = ServerAddress("localhost", port, "me", PASSWORD, tls=tls)
            driver = make("rogue", address, Policy(found.dialect), 1)
            try:
                with pytest.raises(SourceError):
                    await driver.posture()
                trouble = str(driver.trouble())
            finally:
                await driver.close()
        return heard, trouble

    return meet


@pytest.mark.parametrize("mode", [TlsMode.PREFER, TlsMode.UNVERIFIED, TlsMode.VERIFY_CA, TlsMode.VERIFY])
async def test_a_password_is_not_told_over_tls_that_nobody_verified(rogue: Meet, mode: TlsMode) -> None:
    heard, _ = await rogue(Tls(mode))
    assert heard == []


async def test_the_operator_is_told_how_to_make_the_line_private(rogue: Meet) -> None:
    _, trouble = await rogue(Tls(TlsMode.PREFER))
    assert "ssl_ca" in trouble
    assert "socket" in trouble
    assert PASSWORD not in trouble


@pytest.mark.parametrize("mode", [TlsMode.VERIFY, TlsMode.VERIFY_CA])
async def test_a_verified_server_gets_the_password_it_asks_for(
    rogue: Meet, certificates: Certificates, mode: TlsMode
) -> None:
    heard, _ = await rogue(Tls(mode, certificates.authority))
    assert set(heard) == {PASSWORD.encode() + b"\0"}


async def test_the_system_s_authorities_for_whichever_name_prove_nothing(
    rogue: Meet, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Anybody can have a certificate of a public authority, for a name of his own."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    context_of.cache_clear()
    heard, _ = await rogue(Tls(TlsMode.VERIFY_CA))
    assert heard == []
