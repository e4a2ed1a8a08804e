"""However many ask for a reload: the file is read once for all who wait. Workers look together."""

import asyncio
from pathlib import Path

import pytest

from callgate.app import reload as reloading
from callgate.app.reload import Reloader, until_next_look_s
from callgate.app.setup.setup_problems import load_and_check
from callgate.config.load import Loaded
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config


async def test_a_thousand_who_ask_at_once_share_one_reading_and_those_who_come_meanwhile_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1\n")
    readings: list[str] = []

    def read(flags: Flags) -> Loaded:
        readings.append(file.read_text())
        return load_and_check(flags)

    monkeypatch.setattr(reloading, "load_and_check", read)
    taken: list[Config] = []
    begun, may_end = asyncio.Event(), asyncio.Event()

    async def take(config: Config) -> None:
        taken.append(config)
        begun.set()
        await may_end.wait()

    async def found(loaded: Loaded) -> None:
        pytest.fail("it had a file from the beginning")

    reloader = Reloader(load_and_check(Flags(config=file)), take, found)
    file.write_text("version = 1\n[policy]\ndestructive = 'deny'\n")
    first = [asyncio.create_task(reloader.reload()) for _ in range(1_000)]
    await begun.wait()
    file.write_text("version = 1\n")
    then = [asyncio.create_task(reloader.reload()) for _ in range(1_000)]
    may_end.set()
    assert {news.version for news in await asyncio.gather(*first)} == {1}
    assert {news.version for news in await asyncio.gather(*then)} == {2}
    assert len(readings) == len(taken) == 2


def test_processes_that_began_at_any_moment_look_in_the_same_one() -> None:
    began_s = [1_795_000_000.0 + part / 7 for part in range(7)]
    looks = {began + until_next_look_s(began) for began in began_s}
    assert {round(look, 3) for look in looks} == {1_795_000_001.0}
    assert until_next_look_s(1_795_000_001.0) == 1.0, "no look twice"
