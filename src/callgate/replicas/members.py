"""The heartbeat, and what it tells of the others: addresses, and who is gone.

Rules
1. Each 5 s we say that we are here, and hear who else is. Silence is counted by the directory's clock, and
   only once the directory itself was there for as long: after it was away, everybody has been silent.
2. A replica is gone when it said so (`left`); when nobody listens at its address and it missed a beat; when
   it does not answer and was silent for 15 s; or when a younger one has its address. Before somebody is taken
   for gone, the directory is asked again. While it is away, nobody is.
3. Only an address that its owner sealed with our key, and that is a host and a port, is ever dialled.
"""

import asyncio
import hashlib
import hmac
import logging
import random
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from ipaddress import ip_address

from callgate.replicas.directory import Announcement, Directory, DirectoryAwayError, Member, ReplicaState
from callgate.replicas.sealed_ids import GATEWAY_NAME, derived_key, joined

_log = logging.getLogger(__name__)

_BEAT_S = 5.0
_MANY, _BEAT_OF_MANY_S = 200, 10.0
_MISSED_A_BEAT_S = 6.0
_SILENT_S = 15.0
_HOST_PORT = re.compile(r"(\[[0-9A-Fa-f:.]{2,45}\]|[A-Za-z0-9._-]{1,253}):([1-9][0-9]{0,4})")


class Members:
    def __init__(
        self,
        directory: Directory,
        me: Announcement,
        state_key: bytes,
        is_dialled: Callable[[str], bool] | None = None,
    ) -> None:
        """`is_dialled`: see rule 3, where addresses are not hosts and ports."""
        self._directory = directory
        self._is_dialled = is_dialled or is_host_and_port
        self._key = derived_key(state_key, "directory")
        self.me = me
        self._members: dict[str, Member] = {}
        self._genuine: dict[str, tuple[Announcement, bool]] = {}  # whose address may be dialled
        self._made_at = time.time()
        self._there_since: float | None = None  # monotonic; None: the directory is away
        self._asking: asyncio.Task[None] | None = None
        self._next_asking: asyncio.Task[None] | None = None
        self._beating: asyncio.Task[None] | None = None
        self._own_address: Callable[[], str] = str
        self.trouble = ""  # why the directory is away
        # Told after every beat, with how long it is since the one before.
        self.after_beat: Callable[[float], Awaitable[None]] = _nothing

    # ---- our own

    async def start(self, own_address: Callable[[], str]) -> None:
        """Says that we are here; when the directory is away, later. `own_address`: empty while not known."""
        self._own_address = own_address
        await self._beat()
        self._beating = asyncio.create_task(self._keep_beating())

    @property
    def is_started(self) -> bool:
        return self._beating is not None

    async def say(self, state: ReplicaState) -> None:
        self.me = replace(self.me, state=state)
        await self._beat()

    async def leave(self) -> None:
        if self._beating is not None:
            self._beating.cancel()
            await asyncio.wait([self._beating])
            await self.say("left")
        for task in (self._asking, self._next_asking):
            if task is not None:
                task.cancel()

    async def _keep_beating(self) -> None:
        loop = asyncio.get_running_loop()
        beat_at = loop.time()
        while True:
            every_s = _BEAT_S if len(self._members) < _MANY else _BEAT_OF_MANY_S
            if self._there_since is None:
                every_s = 1.0
            await asyncio.sleep(every_s * random.uniform(0.9, 1.0))  # noqa: S311 - spread, not secret
            try:
                if await self._beat():
                    before, beat_at = beat_at, loop.time()
                    await self.after_beat(beat_at - before)
            except Exception:  # noqa: BLE001 - whatever it was: without a heartbeat we would be taken for gone
                _log.exception("a heartbeat failed")

    async def _beat(self) -> bool:
        try:
            if not self.me.address:
                await self._directory.members()  # over a connection, which may tell the address
                address = self._own_address()
                self.me = replace(self.me, address=address, seal=self._seal_of(self.me.gateway, address))
            if (offset_s := self._directory.clock_offset_s) is not None:
                self.me = replace(self.me, clock_offset_ms=_milliseconds(offset_s))
            self._learn(await self._directory.beat(self.me))
        except DirectoryAwayError as problem:
            self._lose(problem)
            return False
        return True

    # ---- the others

    def living(self) -> list[Member]:
        """All that are there, this one among them, as far as was heard last."""
        own = self._members.get(self.me.gateway)
        found = [Member(self.me, self._made_at if own is None else own.started_at, 0.0)]
        found += [
            member
            for gateway, member in self._members.items()
            if gateway != self.me.gateway
            and member.said.state != "left"
            and member.silent_s <= _SILENT_S
            and self._is_sealed(member.said)
        ]
        return found

    async def look(self) -> None:
        """Hear what is so from now on."""
        await self._ask_again()

    async def address_of(self, gateway: str) -> str | None:
        """None: not known, gone, or not to be dialled."""
        if gateway not in self._members:
            await self._ask_again()
        return self.known_address(gateway)

    def known_address(self, gateway: str) -> str | None:
        """The same, of one that was heard of."""
        member = self._members.get(gateway)
        if member is None or member.said.state == "left":
            return None
        said = member.said
        known = self._genuine.get(gateway)
        if known is None or known[0] is not said:
            known = self._genuine[gateway] = (said, self._is_genuine(said))
        return said.address if known[1] else None

    async def is_there(self) -> bool:
        """Whether the directory can be asked."""
        await self._ask_again()
        return self._there_since is not None

    async def is_gone(self, gateway: str, *, is_refused: bool) -> bool:
        """`is_refused`: nobody listens at its address; else nothing was heard."""
        await self._ask_again()
        if self._there_since is None:
            return False
        there_s = asyncio.get_running_loop().time() - self._there_since
        member = self._members.get(gateway)
        if member is None:
            return there_s > _SILENT_S
        if member.said.state == "left" or self._is_replaced(member):
            return True
        if is_refused and min(member.silent_s, there_s) > _MISSED_A_BEAT_S:
            return True
        return min(member.silent_s, there_s) > _SILENT_S

    def is_leaving(self, gateway: str) -> bool:
        member = self._members.get(gateway)
        return member is not None and member.said.state == "leaving"

    def _is_replaced(self, member: Member) -> bool:
        return any(
            other.said.address == member.said.address
            and other.started_at > member.started_at
            and self._is_genuine(other.said)
            for other in self._members.values()
        )

    async def _ask_again(self) -> None:
        """What is so from now on. All who ask while one question is under way share the next one."""
        if self._next_asking is None:
            self._next_asking = asyncio.create_task(self._ask_after(self._asking))
        await asyncio.shield(self._next_asking)

    async def _ask_after(self, before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait([before])
        self._asking, self._next_asking = self._next_asking, None
        try:
            self._learn(await self._directory.members())
        except DirectoryAwayError as problem:
            self._lose(problem)

    def _learn(self, members: Sequence[Member]) -> None:
        if self._there_since is None:
            self._there_since = asyncio.get_running_loop().time()
            if self.trouble:
                _log.info("The directory of replicas can be reached again")
        self.trouble = ""
        self._members = {one.said.gateway: one for one in members if GATEWAY_NAME.fullmatch(one.said.gateway)}
        self._genuine.clear()

    def _lose(self, problem: DirectoryAwayError) -> None:
        if not self.trouble:
            _log.warning(
                "The directory of replicas cannot be reached: %s. Sessions stay where they are", problem
            )
        self.trouble = str(problem)
        self._there_since = None

    # ---- addresses

    def _seal_of(self, gateway: str, address: str) -> str:
        return hmac.new(self._key, joined((gateway, address)), hashlib.sha256).hexdigest()

    def _is_sealed(self, said: Announcement) -> bool:
        # As bytes: of texts, only those in ASCII can be compared.
        return hmac.compare_digest(self._seal_of(said.gateway, said.address).encode(), said.seal.encode())

    def _is_genuine(self, said: Announcement) -> bool:
        return self._is_sealed(said) and self._is_dialled(said.address)


def _milliseconds(offset_s: float) -> int:
    """As a column of the directory has room for."""
    return max(-(2**31), min(2**31 - 1, round(offset_s * 1000)))


async def _nothing(since_s: float) -> None:
    pass


def is_host_and_port(address: str) -> bool:
    """Somewhere a replica could be: no link-local address (cloud metadata), no multicast, no wildcard."""
    match = _HOST_PORT.fullmatch(address)
    if match is None or int(match[2]) > 65535:
        return False
    try:
        host = ip_address(match[1].strip("[]"))
    except ValueError:
        return not match[1].startswith("[")
    return not (host.is_link_local or host.is_multicast or host.is_unspecified)
