"""Rogue databases: listeners that speak a little MySQL or PostgreSQL. They get no password and no file, and
cost what an unreachable database costs."""

import asyncio
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from _hostile.attacker import ask, call, message
from _hostile.frames import MIB
from _hostile.scenario import Bound, Group, Scene, Upstream

DATABASES = Group("databases")
_PASSWORD = "pass-word-of-the-source-91c"
_ENDLESS_BYTES = 300 * MIB
_PATIENCE_S = 30.0
_BOUND = Bound(cpu_s=4.0, memory_mib=128)


class Rogue:
    """One listener. `heard`: all that the gateway said to it."""

    def __init__(self, hello: bytes, after: list[bytes], flood: bytes, *, drips: bool = False) -> None:
        """`hello` at once, then one of `after` for each packet that comes, then `flood` over and over."""
        self._hello = hello
        self._after = after
        self._flood = flood
        self._drips = drips
        self.heard = b""
        self.met = 0
        self.begin = asyncio.Event()  # until then it is silent, so that all of it is measured

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await self.begin.wait()
            self.met += 1
            await self._play(reader, writer)
        except (OSError, asyncio.CancelledError):
            pass  # the gateway hung up, or the scenario is over
        finally:
            writer.close()

    async def _play(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await self._say(writer, self._hello)
        for part in self._after:
            heard = await reader.read(65536)
            if not heard:
                return
            self.heard += heard
            await self._say(writer, part)
        listening = asyncio.create_task(self._listen(reader))
        try:
            for _ in range(_ENDLESS_BYTES // len(self._flood) if self._flood else 0):
                writer.write(self._flood)
                await writer.drain()
            await asyncio.sleep(_PATIENCE_S)
        finally:
            listening.cancel()

    async def _listen(self, reader: asyncio.StreamReader) -> None:
        while data := await reader.read(65536):
            self.heard += data

    async def _say(self, writer: asyncio.StreamWriter, data: bytes) -> None:
        step = 1 if self._drips else len(data) or 1
        for start in range(0, len(data), step):
            writer.write(data[start : start + step])
            await writer.drain()
            if self._drips:
                await asyncio.sleep(0.05)


# ---- MySQL


def _packet(number: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3, "little") + bytes([number]) + payload


def _greeting(version: bytes = b"8.0.36", plugin: bytes = b"mysql_native_password") -> bytes:
    capabilities = 0x81FFF7FF  # no TLS
    low, high = struct.pack("<I", capabilities)[:2], struct.pack("<I", capabilities)[2:]
    payload = b"\x0a" + version + b"\0" + struct.pack("<I", 7) + b"abcdefgh\0" + low + b"\x2d" + b"\2\0"
    return _packet(0, payload + high + b"\x15" + bytes(10) + b"ijklmnopqrst\0" + plugin + b"\0")


_OK = b"\0\0\0\2\0\0\0"
_COLUMN = b"\3def\0\0\0\1a\0\x0c\x2d\0\xff\0\0\0\xfd\0\0\0\0\0"
_MAX_PACKET = b"\xff\xff\xff"
MYSQL: dict[str, Callable[[], Rogue]] = {
    "never says hello": lambda: Rogue(b"", [], b""),
    "drips its hello": lambda: Rogue(_greeting() * 20, [], b"", drips=True),
    "greets with a packet without an end": lambda: Rogue(_MAX_PACKET + b"\0", [], b"x" * 65536),
    "greets with packets without an end": lambda: Rogue(b"", [], (_MAX_PACKET + b"\0" + b"x" * 0xFFFFFF)),
    "greets in garbage": lambda: Rogue(b"HTTP/1.1 400 Bad Request\r\n\r\n" * 100, [], b""),
    "greets with escapes": lambda: Rogue(_packet(0, b"\xff\x10\x04#08004\x1b[31m" + b"E" * 60_000), [], b""),
    "asks for the password in clear": lambda: Rogue(
        _greeting(), [_packet(2, b"\xfemysql_clear_password\0"), _packet(4, _OK)], b""
    ),
    "asks for the full password of caching_sha2": lambda: Rogue(
        _greeting(plugin=b"caching_sha2_password"), [_packet(2, b"\1\4"), _packet(4, _OK)], b""
    ),
    "switches the login without an end": lambda: Rogue(
        _greeting(), [_packet(2, b"\xfemysql_native_password\0abcdefghijklmnopqrst\0")] * 1_000, b""
    ),
    "asks for a file": lambda: Rogue(_greeting(), [_packet(2, _OK), _packet(1, b"\xfb/etc/passwd")], b""),
    "answers with columns without an end": lambda: Rogue(
        _greeting(), [_packet(2, _OK), _packet(1, b"\xfe" + b"\xff" * 8)], _packet(2, _COLUMN) * 500
    ),
    "answers with rows without an end": lambda: Rogue(
        _greeting(), [_packet(2, _OK), _packet(1, b"\1") + _packet(2, _COLUMN)], _packet(3, b"\3abc") * 2_000
    ),
    "answers with one row without an end": lambda: Rogue(
        _greeting(),
        [_packet(2, _OK), _packet(1, b"\1") + _packet(2, _COLUMN)],
        _MAX_PACKET + b"\3" + b"\xfd\xff\xff\xff" + b"x" * (0xFFFFFF - 4),
    ),
}  # fmt: skip


# ---- PostgreSQL


def _message(kind: bytes, payload: bytes) -> bytes:
    return kind + struct.pack(">I", len(payload) + 4) + payload


_AUTH_OK, _READY = _message(b"R", struct.pack(">I", 0)), _message(b"Z", b"I")
_LOGGED_IN = _AUTH_OK + _message(b"K", bytes(8)) + _READY
_FIELD = b"a\0" + bytes(6) + struct.pack(">IhIh", 25, -1, 0, 0)
_ROW_OF = _message(b"T", struct.pack(">H", 1) + _FIELD)
_DATA_ROW = _message(b"D", struct.pack(">HI", 1, 3) + b"abc")
_SCRAM = struct.pack(">I", 10) + b"SCRAM-SHA-256\0\0"
_NO_TLS = b"N"
_HUGE = struct.pack(">I", 0x7FFFFFFF)


def _scram_first(iterations: bytes) -> bytes:
    """It cannot know the client's nonce, and says so little that a client must refuse it."""
    return _message(
        b"R", struct.pack(">I", 11) + b"r=fyko+d2lbbFgONRv9qkxdawL,s=QSXCR+Q6sek8bf92,i=" + iterations
    )


POSTGRES: dict[str, Callable[[], Rogue]] = {
    "never answers": lambda: Rogue(b"", [], b""),
    "drips its login": lambda: Rogue(b"", [_NO_TLS, _LOGGED_IN * 20], b"", drips=True),
    "answers the offer of TLS with a flood": lambda: Rogue(b"", [b""], b"S" * 65536),
    "begins TLS with garbage": lambda: Rogue(b"", [b"S"], b"\x16\x03\x01\xff\xff" * 10_000),
    "asks for the password in clear": lambda: Rogue(
        b"", [_NO_TLS, _message(b"R", struct.pack(">I", 3)), _LOGGED_IN], b""
    ),
    "asks for two billion rounds of SCRAM": lambda: Rogue(
        b"", [_NO_TLS, _message(b"R", _SCRAM), _scram_first(b"2147483647")], b""
    ),
    "asks for 9,000 digits of SCRAM": lambda: Rogue(
        b"", [_NO_TLS, _message(b"R", _SCRAM), _scram_first(b"9" * 9_000)], b""
    ),
    "logs in with a message without an end": lambda: Rogue(b"", [_NO_TLS, b"R" + _HUGE], b"x" * 65536),
    "notes without an end": lambda: Rogue(b"", [_NO_TLS, _AUTH_OK], _message(b"N", b"SNOTICE\0\0") * 2_000),
    "sets parameters without an end": lambda: Rogue(
        b"", [_NO_TLS, _AUTH_OK], _message(b"S", b"name\0value\0") * 2_000
    ),
    "fails with a long text of escapes": lambda: Rogue(
        b"", [_NO_TLS, _message(b"E", b"SFATAL\0C28000\0M\x1b[31m" + b"E" * 5_000_000 + b"\0\0")], b""
    ),
    "answers with rows without an end": lambda: Rogue(
        b"", [_NO_TLS, _LOGGED_IN, _message(b"1", b"") + _message(b"2", b"") + _ROW_OF], _DATA_ROW * 2_000
    ),
    "answers with 65,535 columns": lambda: Rogue(
        b"", [_NO_TLS, _LOGGED_IN, _message(b"1", b"") + _message(b"2", b"")],
        _message(b"T", struct.pack(">H", 65535) + _FIELD * 65535),
    ),
    "asks for a copy": lambda: Rogue(
        b"", [_NO_TLS, _LOGGED_IN, _message(b"1", b"") + _message(b"G", bytes(3))], b""
    ),
}  # fmt: skip


def _behind(engine: str, make: Callable[[], Rogue]) -> Upstream:
    @asynccontextmanager
    async def listening(folder: Path, scale: float) -> AsyncIterator[tuple[str, Any]]:
        del folder, scale
        rogue = make()
        server = await asyncio.start_server(rogue.serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        dsn = f"{engine}://user:{_PASSWORD}@127.0.0.1:{port}/shop?connect_timeout=2"
        try:
            yield f'[[sources]]\nid = "rogue"\ndsn = "{dsn}"\ntimeout_s = 2\n', rogue
        finally:
            server.close()

    return listening


async def use_it(scene: Scene) -> None:
    """Queries until the gateway came twice: each has one outcome, the rogue gets no password and no file."""
    scene.served.begin.set()
    while scene.served.met < 2:
        answer = await ask(scene.gateway, call("rogue__query", {"sql": "SELECT 1"}), "/mcp")
        scene.expect(answer is not None, "a query has no outcome")
        scene.expect(answer is None or b"\x1b" not in answer.body, "escapes reach the caller")
        await asyncio.sleep(0.5)  # an unreachable source is tried again after a while
    scene.expect(await ask(scene.gateway, message("tools/list"), "/mcp") is not None, "no list")
    scene.expect(_PASSWORD.encode() not in scene.served.heard, "it got the password in clear")
    scene.expect(b"root:" not in scene.served.heard, "it got a file")


_IN_SHORT = {
    "asks for the password in clear",
    "answers with rows without an end",
    "greets with a packet without an end",
}
for _engine, _rogues in (("mysql", MYSQL), ("postgres", POSTGRES)):
    for _name, _make in _rogues.items():
        DATABASES.add(
            f"{_engine} {_name}",
            use_it,
            _BOUND,
            upstream=_behind(_engine, _make),
            in_short=_name in _IN_SHORT,
        )
