"""Accounts whose password no hash stands for: RSA on a line without TLS, and MariaDB's two with a curve.

The peer checks what it hears as the server does: it has the private key, or what the account's row has.
`client_ed25519` is tried on MariaDB itself, whose plugin `scripts/test` fetches.
"""

import hashlib
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from databases.database import Database
from databases.mariadb import mariadb_server, plugin_folder
from sql.network.conftest import Source, open_driver
from sql.network.mysql.test_mysql_login import OK, SEED, Peer, Script, greeting, played

from callgate.model.errors import SourceError
from callgate.sql.engines.engine import find_engine
from callgate.sql.engines.mysql.driver import login
from callgate.sql.engines.mysql.driver.driver import MySqlEngine
from callgate.sql.engines.mysql.driver.wire import connect
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress, Tls, TlsMode

PASSWORD = "hunter2"  # that of `played`
LONG_SEED = bytes(range(200, 232))
SALT = b"eighteen bytes....."


@pytest.fixture(scope="module")
def key() -> rsa.RSAPrivateKey:
    return rsa.generate_private_key(65537, 2048)


def pem_of(key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey) -> bytes:
    return key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )


def decrypted(key: rsa.RSAPrivateKey, data: bytes, seed: bytes = SEED) -> bytes:
    sha1 = hashes.SHA1()
    plain = key.decrypt(data, padding.OAEP(padding.MGF1(sha1), sha1, None))
    return bytes(byte ^ seed[at % len(seed)] for at, byte in enumerate(plain))


class RsaServer:
    """Asks for the password by one of the two methods, and tells its key to who asks for it."""

    def __init__(self, plugin: str, key: rsa.RSAPrivateKey, told: bytes | None = None) -> None:
        self.plugin = plugin
        self.key = key
        self.told = told if told is not None else pem_of(key)
        self.was_asked_for_key = False
        self.heard: bytes | None = None

    async def script(self, peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        if self.plugin == "sha256_password":
            peer.say(b"\xfesha256_password\0" + SEED + b"\0")
        else:
            peer.say(b"\x01\x04")
        answer = await peer.hear()
        if answer == {"sha256_password": b"\x01", "caching_sha2_password": b"\x02"}[self.plugin]:
            self.was_asked_for_key = True
            peer.say(b"\x01" + self.told)
            answer = await peer.hear()
        self.heard = decrypted(self.key, answer)
        peer.say(OK)


@pytest.fixture(params=["sha256_password", "caching_sha2_password"])
def server(request: pytest.FixtureRequest, key: rsa.RSAPrivateKey) -> RsaServer:
    return RsaServer(request.param, key)


@asynccontextmanager
async def logged_in(script: Script, **changes: object) -> AsyncIterator[None]:
    async with played(script) as address:
        wire = await connect(replace(address, **changes))
        try:
            yield
        finally:
            wire.stream.close()


async def test_a_key_that_the_operator_knows_encrypts_the_password(server: RsaServer, tmp_path: Path) -> None:
    pinned = tmp_path / "key.pem"
    pinned.write_bytes(pem_of(server.key))
    async with logged_in(server.script, server_key_file=pinned):
        assert server.heard == PASSWORD.encode() + b"\0"
        assert not server.was_asked_for_key


async def test_a_key_is_fetched_where_the_operator_allows_it(server: RsaServer) -> None:
    async with logged_in(server.script, fetches_server_key=True):
        assert server.heard == PASSWORD.encode() + b"\0"
        assert server.was_asked_for_key


async def test_without_a_word_about_keys_nothing_is_told(server: RsaServer) -> None:
    with pytest.raises(login.NeedsPrivacy):
        async with logged_in(server.script):
            pass
    assert server.heard is None


async def test_who_has_another_key_than_the_pinned_one_reads_nothing(
    server: RsaServer, tmp_path: Path
) -> None:
    pinned = tmp_path / "key.pem"
    pinned.write_bytes(pem_of(rsa.generate_private_key(65537, 2048)))
    heard: list[bytes] = []

    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        peer.say(b"\x01\x04" if server.plugin != "sha256_password" else b"\xfesha256_password\0" + SEED)
        heard.append(await peer.hear())
        peer.say(OK)

    async with logged_in(script, server_key_file=pinned):
        pass
    assert PASSWORD.encode() not in heard[0]
    with pytest.raises(ValueError):
        decrypted(server.key, heard[0])


@pytest.mark.parametrize("told", [b"", b"no key", pem_of(ec.generate_private_key(ec.SECP256R1()))])
async def test_what_is_no_rsa_key_is_told_as_that(key: rsa.RSAPrivateKey, told: bytes) -> None:
    server = RsaServer("caching_sha2_password", key, told or b"\0")
    with pytest.raises(login.BadKey):
        async with logged_in(server.script, fetches_server_key=True):
            pass


def test_a_password_beyond_the_key_is_no_crash(key: rsa.RSAPrivateKey) -> None:
    with pytest.raises(login.BadKey):
        login.with_rsa("x" * 300, SEED, pem_of(key))


async def trouble_with(script: Script, **changes: object) -> str:
    found = find_engine("mysql")
    assert found is not None
    async with played(script) as address:
        engine = MySqlEngine(replace(address, **changes), Policy(found.dialect))
        with pytest.raises(Exception) as caught:
            await engine.open()
        return str(caught.value)


async def test_the_operator_is_told_what_there_is_to_do(server: RsaServer) -> None:
    trouble = await trouble_with(server.script)
    for part in ("asks for the password itself", "server_public_key", "ssl_ca", "account does not exist"):
        assert part in trouble
    bad = await trouble_with(RsaServer(server.plugin, server.key, b"none").script, fetches_server_key=True)
    assert "not an RSA key" in bad


async def test_a_package_that_is_missing_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "nacl", None)

    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        peer.say(b"\xfeclient_ed25519\0" + LONG_SEED)
        await peer.hear()

    assert "pip install '.[mysql]' in the folder with the sources" in await trouble_with(script)


def parsec_account(password: str, doublings: int) -> Ed25519PublicKey:
    """What MariaDB keeps of a password."""
    secret = hashlib.pbkdf2_hmac("sha512", password.encode(), SALT, 1024 << doublings, 32)
    return Ed25519PrivateKey.from_private_bytes(secret).public_key()


def parsec_script(account: Ed25519PublicKey, doublings: int, heard: list[bool]) -> Script:
    async def script(peer: Peer) -> None:
        peer.say(greeting("mysql_native_password"))
        await peer.hear()
        peer.say(b"\xfeparsec\0" + LONG_SEED)
        assert await peer.hear() == b""
        peer.say(b"P" + bytes([doublings]) + SALT)
        proof = await peer.hear()
        try:
            account.verify(proof[32:], LONG_SEED + proof[:32])
        except InvalidSignature:
            heard.append(False)
        else:
            heard.append(True)
        peer.say(OK)

    return script


@pytest.mark.parametrize(("password", "is_right"), [(PASSWORD, True), ("another", False)])
async def test_parsec_signs_both_sides_of_the_challenge(password: str, is_right: bool) -> None:
    heard: list[bool] = []
    async with logged_in(parsec_script(parsec_account(password, 2), 2, heard)):
        assert heard == [is_right]


async def test_a_server_cannot_make_us_hash_for_ever() -> None:
    with pytest.raises(login.UnknownPlugin):
        async with logged_in(parsec_script(parsec_account(PASSWORD, 0), 40, [])):
            pass


@pytest.fixture(scope="module")
def with_ed25519() -> Iterator[Database]:
    with mariadb_server(
        f"--plugin-dir={plugin_folder('auth_ed25519.so')}", "--plugin-load-add=auth_ed25519"
    ) as database:
        yield database


@pytest.mark.parametrize("password", ["hunter2", "ü😀" * 20, "of 32 bytes, as a key would have"])
async def test_an_account_with_ed25519_logs_in(with_ed25519: Database, password: str) -> None:
    with_ed25519.run(f"CREATE OR REPLACE USER ed@'%' IDENTIFIED VIA ed25519 USING PASSWORD('{password}')")
    async with _as_ed(with_ed25519, password) as source:
        assert await source.cell("SELECT 7") == 7
    async with _as_ed(with_ed25519, f"{password}.") as source:
        with pytest.raises(SourceError):
            await source.cell("SELECT 7")
        trouble = source.driver.trouble() or ""
        assert "or the account does not exist" in trouble
        assert "(using password: YES)" in trouble


@asynccontextmanager
async def _as_ed(server: Database, password: str) -> AsyncIterator[Source]:
    address = ServerAddress(server.host, server.port, "ed", password, tls=Tls(TlsMode.PREFER))
    async with open_driver(server, address=address) as source:
        yield source
