"""Who is gone, and who is dialled: decided by the directory's clock and our key, never by a guess."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from callgate.replicas.directory import Announcement, Directory, DirectoryAwayError, HomeRow, Member
from callgate.replicas.members import Members, is_host_and_port

KEY = b"0123456789abcdef0123456789abcdef"
OTHER = "OTHERone"


class Told:
    """A directory that says what it was given; our own boundary."""

    def __init__(self) -> None:
        self.clock_offset_s: float | None = None
        self.told: dict[str, str] = {}
        self.rows: list[Member] = []
        self.is_away = False

    async def beat(self, me: Announcement) -> Sequence[Member]:
        return await self.members()

    async def members(self) -> Sequence[Member]:
        if self.is_away:
            raise DirectoryAwayError("away")
        return self.rows

    async def report(self, gateway: str, text: str) -> None:
        await self.members()
        self.told[gateway] = text

    async def reports(self) -> Mapping[str, str]:
        await self.members()
        return self.told

    async def put(self, rows: Sequence[HomeRow]) -> None: ...
    async def saw(self, keys: object) -> Sequence[tuple[str, str]]:
        return ()

    async def claim(self, row: HomeRow, gap_s: float, limit_s: float) -> tuple[str, str]:
        return row.session_id, row.home

    async def home_of(self, key: str) -> HomeRow | None:
        return None

    async def move(self, key: str, gone: str, to: str) -> HomeRow | None:
        return None

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        return True

    async def forget(self, older_than_s: float) -> None: ...
    async def close(self) -> None: ...


def announcement(gateway: str) -> Announcement:
    return Announcement(gateway, "", "", "serving", "1", "f")


class Scene:
    def __init__(self) -> None:
        self.told = Told()
        directory: Directory = self.told
        self.members = Members(directory, announcement("MEmeMEme"), KEY)

    async def other(self, address: str = "10.0.0.2:7421", silent_s: float = 0.0) -> None:
        """Another replica, sealed by itself."""
        its = Members(Told(), announcement(OTHER), KEY)
        await its.start(lambda: address)
        await its.leave()
        self.told.rows = [Member(replace(its.me, state="serving"), 1.0, silent_s)]

    async def watched_for(self, seconds: float) -> None:
        """As if the directory had been there for so long."""
        await self.members.address_of("UNKNOWN1")
        self.members._there_since = asyncio.get_running_loop().time() - seconds


@pytest.fixture
def scene() -> Scene:
    return Scene()


async def test_a_sealed_address_is_dialled(scene: Scene) -> None:
    await scene.other()
    assert await scene.members.address_of(OTHER) == "10.0.0.2:7421"


@pytest.mark.parametrize(
    "wild",
    ["http://10.0.0.2:1", "10.0.0.2", "10.0.0.2:0", "10.0.0.2:99999", "169.254.169.254:80", "0.0.0.0:80",
     "[fe80::1]:80", "224.0.0.1:80", "a b:80", "user@host:80", "host/path:80", "[::]:80", "x\r\ny:80", ""],
)  # fmt: skip
async def test_a_wild_address_is_not_dialled_even_if_it_is_sealed(scene: Scene, wild: str) -> None:
    await scene.other(wild)
    assert await scene.members.address_of(OTHER) is None
    assert not is_host_and_port(wild)


async def test_an_address_that_somebody_else_wrote_is_not_dialled(scene: Scene) -> None:
    await scene.other()
    (member,) = scene.told.rows
    for forged in (
        replace(member.said, address="198.51.100.7:7421"),
        replace(member.said, gateway="ANOTHER1"),
        replace(member.said, seal=""),
        replace(member.said, seal="\u00e9"),
    ):
        scene.told.rows = [replace(member, said=forged)]
        await scene.members.look()
        assert await scene.members.address_of(forged.gateway) is None
        assert [one.said.gateway for one in scene.members.living()] == [scene.members.me.gateway]


async def test_who_said_that_it_left_is_gone_at_once(scene: Scene) -> None:
    await scene.other()
    (member,) = scene.told.rows
    scene.told.rows = [replace(member, said=replace(member.said, state="left"))]
    assert await scene.members.is_gone(OTHER, is_refused=False)
    assert await scene.members.address_of(OTHER) is None


@pytest.mark.parametrize(
    ("silent_s", "is_refused", "is_gone"),
    [(4.0, True, False), (7.0, True, True), (7.0, False, False), (16.0, False, True)],
)
async def test_silence_counts_sooner_where_nobody_listens(
    scene: Scene, silent_s: float, is_refused: bool, is_gone: bool
) -> None:
    await scene.other(silent_s=silent_s)
    await scene.watched_for(60)
    assert await scene.members.is_gone(OTHER, is_refused=is_refused) is is_gone


async def test_after_the_directory_was_away_nobody_is_gone_until_they_could_have_beaten(scene: Scene) -> None:
    await scene.other(silent_s=600.0)
    await scene.watched_for(5)
    assert not await scene.members.is_gone(OTHER, is_refused=True)
    scene.told.is_away = True
    await scene.watched_for(600)
    assert not await scene.members.is_gone(OTHER, is_refused=True)
    assert scene.members.trouble == "away"
    scene.told.is_away = False
    assert not await scene.members.is_gone(OTHER, is_refused=True)


async def test_a_younger_replica_at_the_same_address_replaces_the_older(scene: Scene) -> None:
    await scene.other()
    (older,) = scene.told.rows
    its = Members(Told(), announcement("YOUNGER1"), KEY)
    await its.start(lambda: older.said.address)
    await its.leave()
    scene.told.rows = [older, Member(replace(its.me, state="serving"), 2.0, 0.0)]
    assert await scene.members.is_gone(OTHER, is_refused=False)
    assert not await scene.members.is_gone("YOUNGER1", is_refused=True)
