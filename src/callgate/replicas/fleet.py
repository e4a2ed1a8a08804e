"""How all replicas are doing: what this one tells, and what the others tell. Implements `ports.Fleet`.

Rules
1. What we tell is told when it changed: a change of a server's state within a second, the rest with the next
   heartbeat. Now and then it is told again, for a directory that lost it.
2. What others tell is read when somebody looks, at most once a second. While the directory is away, what was
   known last is shown.
3. Nobody who looks waits for the directory longer than a moment.
"""

import asyncio
import hashlib
import hmac
import logging
import time
from collections.abc import Callable, Mapping, Sequence

import msgspec

from callgate.model.health import Health, State
from callgate.ports.fleet import Difference, FleetCounts, ReplicaFacts
from callgate.ports.record_reader import StoreProgress
from callgate.replicas.comparison import Compared, differences, problems_of
from callgate.replicas.directory import Directory, DirectoryAwayError
from callgate.replicas.members import Members
from callgate.replicas.reports import Report, decode_report, encode_report, report_of, rounded_lag
from callgate.replicas.sealed_ids import derived_key, joined

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0
_PATIENCE_S = 0.3
_STATES_EVERY_S = 1.0
_TELL_AGAIN_S = 60.0


class ReplicaFleet:
    def __init__(
        self,
        directory: Directory,
        members: Members,
        tokens: str,
        redact: Callable[[str], str],
        where: str = "[replicas] database",
    ) -> None:
        """`tokens`: `tokens_digest` of our own. `where`: the directory is, for people."""
        self._where = where
        self._directory = directory
        self._members = members
        self.tokens = tokens
        self._redact = redact
        # Of this process; set once the parts are there.
        self.health: Callable[[], Sequence[Health]] = tuple
        self.progress: Callable[[], StoreProgress | None] = lambda: None
        # Told of how many there are, when that changed.
        self.on_living: Callable[[int], None] = lambda living: None
        self.hops: Mapping[str, int] = {}  # counted elsewhere
        self.adopted: Mapping[str, int] = {}
        self._living = 1
        self._told = ""
        self._told_at = 0.0
        self._states: dict[str, State] = {}
        self._watching: asyncio.Task[None] | None = None
        self._looked_at = float("-inf")
        self._looking: asyncio.Task[None] | None = None
        self._reports: dict[str, tuple[str, Report]] = {}  # as it was read, and what it says
        self._warned = 0  # of how many problems

    # ---- our own

    def start(self) -> None:
        self._watching = asyncio.create_task(self._watch_states())

    async def close(self) -> None:
        for task in (self._watching, self._looking):
            if task is not None:
                task.cancel()
                await asyncio.wait([task])

    async def tell(self) -> None:
        """With the heartbeat."""
        living = len(self._members.living())
        if living != self._living:
            self._living = living
            self.on_living(living)
        self._warn()
        report = self._own_report(self.health())
        self._states = {part.name: part.state for part in report.parts}
        text = encode_report(report)
        now = asyncio.get_running_loop().time()
        is_known = text == self._told and now - self._told_at < _TELL_AGAIN_S
        if is_known or self._members.trouble:
            return
        try:
            await self._directory.report(self._members.me.gateway, text)
        except DirectoryAwayError:
            return  # with the next heartbeat
        self._told, self._told_at = text, now

    async def _watch_states(self) -> None:
        while True:
            await asyncio.sleep(_STATES_EVERY_S)
            try:
                states = {entry.name: entry.state for entry in self.health()}
                if states != self._states and not self._members.trouble:
                    await self.tell()
            except Exception:  # noqa: BLE001 - the next look may go well
                _log.exception("the state of the servers could not be told")

    def _own_report(self, health: Sequence[Health]) -> Report:
        report = report_of(health, self._redact)
        lag_s, journal_bytes = None, None
        if (progress := self.progress()) is not None:
            lag_s, journal_bytes = rounded_lag(progress.lag_s, progress.journal_bytes)
        return msgspec.structs.replace(report, tokens=self.tokens, lag_s=lag_s, journal_bytes=journal_bytes)

    def _warn(self) -> None:
        problems = [] if self._members.trouble else self.problems()  # that it is away was logged
        if len(problems) > self._warned:
            _log.warning("%s", "; ".join(problems))
        self._warned = len(problems)

    # ---- all of them

    async def look(self) -> None:
        if self._looking is None or self._looking.done():
            if asyncio.get_running_loop().time() - self._looked_at < _LOOK_EVERY_S:
                return
            self._looking = asyncio.create_task(self._ask())
        await asyncio.wait([self._looking], timeout=_PATIENCE_S)

    async def _ask(self) -> None:
        self._looked_at = asyncio.get_running_loop().time()
        try:
            await self._members.look()
            told = await self._directory.reports()
        except DirectoryAwayError:
            return
        self._reports = {gateway: self._read(gateway, text) for gateway, text in told.items()}

    def _read(self, gateway: str, text: str) -> tuple[str, Report]:
        known = self._reports.get(gateway)
        return known if known is not None and known[0] == text else (text, decode_report(text))

    def replicas(self) -> list[ReplicaFacts]:
        me = self._members.me.gateway
        own = self._own_report(self.health())
        reports = {gateway: report for gateway, (_, report) in self._reports.items()} | {me: own}
        differs = self._differences(reports)
        found: list[ReplicaFacts] = []
        for member in self._members.living():
            said, report = member.said, reports.get(member.said.gateway, Report())
            is_this = said.gateway == me
            offset_s = said.clock_offset_ms / 1000 if said.clock_offset_ms is not None else None
            found.append(
                ReplicaFacts(
                    said.gateway,
                    is_this,
                    said.state,
                    said.address,
                    said.version,
                    member.started_at,
                    member.silent_s,
                    self._directory.clock_offset_s if is_this else offset_s,
                    differs.get(said.gateway, ()),
                    tuple(self.health()) if is_this else report.servers(),
                    report.lag_s,
                    report.journal_bytes,
                )
            )
        return sorted(found, key=lambda one: (one.started_at, one.gateway))

    def _differences(self, reports: dict[str, Report]) -> dict[str, tuple[Difference, ...]]:
        its_time = time.time() - (self._directory.clock_offset_s or 0.0)
        return differences(
            [
                Compared(
                    member.said.gateway,
                    member.said.version,
                    member.said.fingerprint,
                    reports[member.said.gateway].tokens if member.said.gateway in reports else "",
                    its_time - member.started_at,
                )
                for member in self._members.living()
            ]
        )

    def problems(self) -> list[str]:
        replicas = self.replicas()
        problems: list[str] = []
        if self._members.trouble:
            why = f"The directory of replicas cannot be reached: {self._members.trouble}"
            hint = f"Check {self._where}. Until it is back, nobody takes over a lost session"
            problems.append(f"{why}. {hint}")
        return problems + problems_of(
            {one.gateway: one.differs for one in replicas if one.differs},
            {one.gateway: one.clock_offset_s for one in replicas},
        )

    def counts(self) -> FleetCounts:
        return FleetCounts(
            dict(self.hops),
            dict(self.adopted),
            max(1, len(self._members.living())),
            self._directory.clock_offset_s,
            bool(self._members.trouble),
        )


def tokens_digest(state_key: bytes, tokens: Sequence[tuple[str, str]]) -> str:
    """Which bearer token (the first of each) is which principal: comparable, and of no use to a thief."""
    key = derived_key(state_key, "tokens")
    digest = hmac.new(key, b"", hashlib.sha256)
    for pair in sorted(tokens):
        digest.update(joined(pair) + b"\n")
    return digest.hexdigest()[:16]
