"""A gateway that is killed leaves nothing running: the server looks whether its client is still there."""

import asyncio
from dataclasses import replace

import pytest
from sql.network.conftest import Opener
from sql.network.peer import listening

from callgate.model.errors import SourceError

_SETTING = b"client_connection_check_interval"


async def test_what_runs_for_a_client_that_is_gone_is_ended(post: Opener) -> None:
    """Its own limit would be reached in ten minutes, and nobody cancels it."""
    async with post(timeout_s=600) as source:
        call = asyncio.create_task(source.run("SELECT pg_sleep(500) /* left-alone */"))
        await source.until_running("left-alone", 1)
        for connection in source.driver._running._running:
            connection._wire.stream.close()
        with pytest.raises(SourceError):
            await call
        await source.until_running("left-alone", 0)


async def test_a_server_that_does_not_know_the_setting_is_asked_without_it(post: Opener) -> None:
    """As PostgreSQL 13 says it."""
    heard: list[bytes] = []

    async def script(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        size = int.from_bytes(await reader.readexactly(4), "big")
        body = await reader.readexactly(size - 4)
        if size == 8:  # asks for TLS
            writer.write(b"N")
            size = int.from_bytes(await reader.readexactly(4), "big")
            body = await reader.readexactly(size - 4)
        heard.append(body)
        code, text = b"42704", b'unrecognized configuration parameter "%s"' % _SETTING
        if _SETTING not in body:
            code, text = b"28000", b"no entry in pg_hba.conf"
        fields = b"SFATAL\0C" + code + b"\0M" + text + b"\0\0"
        writer.write(b"E" + (len(fields) + 4).to_bytes(4, "big") + fields)

    async with post() as source:
        address = source.address
    async with listening(script) as port, post(address=replace(address, port=port)) as source:
        for _ in range(2):
            with pytest.raises(SourceError):
                await source.cell("SELECT 7")
        assert "pg_hba.conf" in (source.driver.trouble() or "")
    assert [_SETTING in body for body in heard[:2]] == [True, False]
    assert not any(_SETTING in body for body in heard[1:])
