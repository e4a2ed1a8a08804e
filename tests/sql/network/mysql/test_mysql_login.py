"""How we prove who we are to MySQL 8: played by a scripted peer, since no such server is at hand."""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from sql.network.peer import listening

from callgate.sql.drivers.network.server import ServerError
from callgate.sql.engines.mysql.driver import login
from callgate.sql.engines.mysql.driver.packets import framed, read_greeting
from callgate.sql.engines.mysql.driver.wire import connect
from callgate.sql.settings import ServerAddress, Tls, TlsMode

SEED = bytes(range(65, 85))
OK = b"\x00\x00\x00\x02\x00\x00\x00"
CAPABILITIES = 0x1 | 0x200 | 0x8000 | 0x80000 | 0x200000 | 0x1000000


def greeting(plugin: str, capabilities: int = CAPABILITIES) -> bytes:
    low, high = capabilities & 0xFFFF, capabilities >> 16
    return (
        b"\x0a8.0.36\0" + (7).to_bytes(4, "little") + SEED[:8] + b"\0" + low.to_bytes(2, "little")
        + b"\xff\x02\x00" + high.to_bytes(2, "little") + b"\x15" + b"\0" * 10 + SEED[8:] + b"\0"
        + plugin.encode() + b"\0"
    )  # fmt: skip


class Peer:
    """A MySQL server's end of one connection."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._sequence = 0

    def say(self, payload: bytes) -> None:
        self._writer.write(framed(payload, self._sequence))

    async def hear(self) -> bytes:
        head = await self._reader.readexactly(4)
        self._sequence = head[3] + 1
        return await self._reader.readexactly(int.from_bytes(head[:3], "little"))


Script = Callable[[Peer], Awaitable[None]]


@asynccontextmanager
async def played(script: Script) -> AsyncIterator[ServerAddress]:
    async with listening(lambda reader, writer: script(Peer(reader, writer))) as port:
        yield ServerAddress("127.0.0.1", port, "me", "hunter2", tls=Tls(TlsMode.PREFER))


def knows_caching_sha2(response: bytes, password: str) -> bool:
    """As the server checks it: it keeps SHA256(SHA256(password)) alone."""
    kept = hashlib.sha256(hashlib.sha256(password.encode()).digest()).digest()
    mask = hashlib.sha256(kept + SEED).digest()
    claimed = bytes(a ^ b for a, b in zip(response, mask, strict=True))
    return hashlib.sha256(claimed).digest() == kept


def knows_native(response: bytes, password: str) -> bool:
    kept = hashlib.sha1(hashlib.sha1(password.encode()).digest()).digest()
    mask = hashlib.sha1(SEED + kept).digest()
    claimed = bytes(a ^ b for a, b in zip(response, mask, strict=True))
    return hashlib.sha1(claimed).digest() == kept


def test_a_server_that_keeps_only_a_hash_can_check_the_response() -> None:
    for password in ("hunter2", "ü😀", "x" * 100):
        assert knows_caching_sha2(
            login.respond(login.CACHING_SHA2, password, SEED, is_private=False), password
        )
        assert knows_native(login.respond(login.NATIVE, password, SEED, is_private=False), password)
    assert not knows_caching_sha2(
        login.respond(login.CACHING_SHA2, "other", SEED, is_private=False), "hunter2"
    )


def test_no_password_is_no_response() -> None:
    assert login.respond(login.CACHING_SHA2, "", SEED, is_private=False) == b""
    assert login.respond(login.NATIVE, "", SEED, is_private=False) == b""


def test_the_greeting_is_read_with_its_whole_seed() -> None:
    read = read_greeting(greeting("caching_sha2_password"))
    assert (read.seed, read.connection_id, read.auth_plugin) == (SEED, 7, "caching_sha2_password")
    assert not read.is_mariadb


async def test_a_remembered_password_logs_in_at_once() -> None:
    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        packet = await peer.hear()
        _, _, rest = packet[32:].partition(b"\0")
        assert packet[32:].startswith(b"me\0")
        assert rest[0] == 32
        assert knows_caching_sha2(rest[1:33], "hunter2")
        peer._sequence = 2
        peer.say(b"\x01\x03")
        peer._sequence = 3
        peer.say(OK)

    async with played(script) as address:
        wire = await connect(address)
        assert wire.greeting.connection_id == 7
        wire.stream.close()


async def test_the_password_itself_is_never_sent_over_an_open_line() -> None:
    heard: list[bytes] = []

    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        peer.say(b"\x01\x04")
        heard.append(await peer.hear())

    async with played(script) as address:
        with pytest.raises(login.NeedsPrivacy):
            await connect(address)
    assert not heard


async def test_the_server_may_ask_for_the_older_method() -> None:
    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        peer.say(b"\xfemysql_native_password\0" + SEED + b"\0")
        assert knows_native(await peer.hear(), "hunter2")
        peer.say(OK)

    async with played(script) as address:
        (await connect(address)).stream.close()


@pytest.mark.parametrize("plugin", ["dialog", "authentication_ldap_sasl_client"])
async def test_a_method_that_we_do_not_speak_is_named(plugin: str) -> None:
    async def script(peer: Peer) -> None:
        peer.say(greeting("caching_sha2_password"))
        await peer.hear()
        peer.say(b"\xfe" + plugin.encode() + b"\0" + SEED + b"\0")

    async with played(script) as address:
        with pytest.raises(login.UnknownPlugin, match=plugin):
            await connect(address)


async def test_an_error_instead_of_a_greeting_is_read() -> None:
    async def script(peer: Peer) -> None:
        peer.say(b"\xff\x10\x04Too many connections")

    async with played(script) as address:
        with pytest.raises(ServerError) as caught:
            await connect(address)
        assert (caught.value.fault.code, caught.value.fault.message) == ("1040", "Too many connections")
