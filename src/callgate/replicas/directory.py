"""Who is there and who has which session: what replicas know in common, whatever keeps it.

`postgres_directory` keeps it in PostgreSQL, `file_directory` in files of one machine. All methods raise
DirectoryAwayError, within the time that they were given.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

ReplicaState = Literal["serving", "leaving", "left"]


class DirectoryAwayError(Exception):
    """It cannot be asked now. The text says why, without an address or a password."""


@dataclass(frozen=True, slots=True)
class Announcement:
    """What a replica says of itself with every heartbeat."""

    gateway: str
    address: str  # host:port of its listener for replicas; empty: it has none
    seal: str  # of both: an address that somebody else wrote into the directory is not dialled
    state: ReplicaState
    version: str
    fingerprint: str  # of its configuration
    clock_offset_ms: int | None = None  # how far its clock is ahead of the directory's


@dataclass(frozen=True, slots=True)
class Member:
    said: Announcement
    started_at: float  # unix seconds by the directory's clock
    silent_s: float  # since its last heartbeat, by the directory's clock


@dataclass(frozen=True, slots=True)
class HomeRow:
    """A session and the replica that has it."""

    key: str
    session_id: str
    home: str
    principal: str
    envelope: str = ""  # JSON; of a handshake session
    is_plain: bool = True  # another replica can go on with it
    is_ended: bool = False


class Directory(Protocol):
    async def beat(self, me: Announcement) -> Sequence[Member]:
        """I am here; who else is? Whatever else is slow must not hold up the beat."""
        ...

    async def members(self) -> Sequence[Member]: ...

    @property
    def clock_offset_s(self) -> float | None:
        """How far our clock is ahead of the directory's, when it was last measured. None: not known yet."""
        ...

    async def report(self, gateway: str, text: str) -> None:
        """What a replica that has beaten tells of its parts, in place of what it told before."""
        ...

    async def reports(self) -> Mapping[str, str]:
        """What replicas told, by gateway. None of those that left, or were silent for minutes."""
        ...

    async def put(self, rows: Sequence[HomeRow]) -> None:
        """Handshake sessions that are here. What is ended or bound stays so."""
        ...

    async def saw(self, keys: Collection[str]) -> Sequence[tuple[str, str]]:
        """These sessions are in use. Returns those that the directory has with their homes."""
        ...

    async def claim(self, row: HomeRow, gap_s: float, limit_s: float) -> tuple[str, str]:
        """A modern session: its id and home, as they are if it was in use within the gap, else as given."""
        ...

    async def home_of(self, key: str) -> HomeRow | None: ...

    async def move(self, key: str, gone: str, to: str) -> HomeRow | None:
        """From a home that is gone, unless somebody did already or it cannot be gone on with.

        The row as it is then; None: there is none."""
        ...

    async def lease(self, name: str, holder: str, seconds: float) -> bool:
        """Whether this holder has it now, for so long."""
        ...

    async def forget(self, older_than_s: float) -> None:
        """Sessions that nobody used for so long, and replicas that were silent for so long."""
        ...

    async def close(self) -> None: ...
