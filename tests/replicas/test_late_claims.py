"""A directory that answers late: a session has one home all the same, as soon as it has answered."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

import pytest
from waiting import until

from callgate.model.envelope import Envelope, Era
from callgate.model.identity import LOCAL
from callgate.model.session import Session
from callgate.ports.homes import ModernKey
from callgate.replicas import homes
from callgate.replicas.directory import DirectoryAwayError, HomeRow
from callgate.replicas.homes import ReplicaHomes
from callgate.replicas.sealed_ids import SealedIds
from replicas.test_members import KEY, Told

OTHER, OURS = "OTHERone", "OURSours"


class Late(Told):
    """It answers when it is told to, and somebody else was first."""

    def __init__(self) -> None:
        super().__init__()
        self.may_answer = asyncio.Event()
        self.asked = 0
        self.is_told, self.may_hear = asyncio.Event(), asyncio.Event()

    async def claim(self, row: HomeRow, gap_s: float, limit_s: float) -> tuple[str, str]:
        self.asked += 1
        await self.may_answer.wait()
        if self.is_away:
            raise DirectoryAwayError("away")
        return row.session_id, OTHER

    async def put(self, rows: Sequence[HomeRow]) -> None:
        self.is_told.set()
        await self.may_hear.wait()


class Scene:
    def __init__(self) -> None:
        self.directory = Late()
        self.homes = ReplicaHomes(self.directory, SealedIds(KEY, OURS, 1800), OURS, 1800, bytes)
        self.key = self.homes.modern_key((LOCAL.name, "client", "1"), time.time())

    async def arrives(self) -> Session:
        """As `SessionBook.claim` does it."""
        found = await self.homes.claim(self.key)
        envelope = Envelope(Era.MODERN, "2026-07-28", "client", "1", b"", b"")
        session = Session(found.session_id, LOCAL, "http", envelope, 1.0, 1.0)
        self.homes.entered(self.key, session, found.home)
        return session


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_an_answer_that_comes_late_is_learned_without_a_heartbeat(scene: Scene) -> None:
    session = await scene.arrives()
    assert scene.homes.known_home(session) == OURS  # nobody waits long for it
    scene.directory.may_answer.set()
    await until(lambda: scene.homes.known_home(session) == OTHER)
    assert scene.directory.asked == 1


async def test_what_needs_the_home_waits_for_an_answer_that_is_on_its_way(scene: Scene) -> None:
    session = await scene.arrives()
    asyncio.get_running_loop().call_soon(scene.directory.may_answer.set)
    assert await scene.homes.settled_home(session) == OTHER


async def test_a_directory_that_is_away_keeps_nobody_waiting(scene: Scene) -> None:
    scene.directory.is_away = True
    scene.directory.may_answer.set()
    session = await scene.arrives()
    scene.directory.may_answer.clear()
    other = ModernKey("m-other", "another", LOCAL.name)
    claiming = asyncio.create_task(scene.homes.claim(other))
    assert await scene.homes.settled_home(session) == OURS
    assert (await claiming).home == ""
    await scene.homes.close()


async def test_requests_that_come_together_ask_once(scene: Scene) -> None:
    scene.directory.may_answer.set()
    found = await asyncio.gather(*(scene.homes.claim(scene.key) for _ in range(5)))
    assert {each.home for each in found} == {OTHER}
    assert scene.directory.asked == 1


async def test_after_a_heartbeat_a_first_call_waits_as_long_as_ever_whatever_is_still_told(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the session begins anew here, although the directory answers by now."""
    monkeypatch.setattr(homes, "_CLAIM_S", 0.0)
    monkeypatch.setattr(homes, "_CLAIM_AFTER_SILENCE_S", 0.0)
    session = await scene.arrives()  # it waits in vain
    scene.homes.opened(replace(session, handshake_id="h"))  # there is something to tell
    telling = asyncio.create_task(scene.homes.tell(5.0))
    await scene.directory.is_told.wait()
    monkeypatch.setattr(homes, "_CLAIM_S", 60.0)
    claiming = asyncio.create_task(scene.homes.claim(ModernKey("m-other", "another", LOCAL.name)))
    await until(lambda: scene.directory.asked == 2)
    scene.directory.may_answer.set()
    assert (await claiming).home == OTHER
    scene.directory.may_hear.set()
    await telling
    await scene.homes.close()
