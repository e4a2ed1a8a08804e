"""Which replica a session belongs to. Implements `ports.Homes`.

Rules
1. A handshake id names its home. Who adopted the session since then is in the directory, and remembered here.
2. What is written down is written later, all of it together: a request never waits for the directory, but for
   the first look at a modern session (50 ms; what needs the home, a second) and where a home is gone. An
   answer that comes later than that still counts.
3. Of what a client said of itself, only what holds no secret leaves this process. A session whose envelope
   does hold one cannot be gone on with elsewhere.
4. After we were silent for long, somebody may have what we had: the directory decides.
"""

import asyncio
import contextlib
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace

from callgate.model.errors import replica_unreachable
from callgate.model.identity import Principal
from callgate.model.session import Session
from callgate.ports.homes import AdoptedSession, ModernHome, ModernKey
from callgate.replicas.directory import Directory, DirectoryAwayError, HomeRow
from callgate.replicas.sealed_ids import SealedIds, directory_key
from callgate.replicas.written_sessions import read_row, written_of

_log = logging.getLogger(__name__)

# How long a session's first call waits to hear whether others know it: a busy machine takes its time. Once
# somebody waited in vain, nobody waits that long until the directory answers again.
_CLAIM_S, _CLAIM_AFTER_SILENCE_S = 0.5, 0.05
_HOME_S = 1.0
_LATE_CLAIM_S = 2.0
_MAX_CLAIMS = 256  # that are under way at once
_MAX_MOVED = 10_000
_MAX_PENDING = 20_000
# As long as a handshake session may be idle; a modern one is over sooner.
_FORGET_AFTER_S = 25 * 3600.0
_SWEEP_EVERY_S = 600.0
_MISSED_BEATS_S = 12.0


@dataclass(slots=True)
class _Entry:
    """A session in use here."""

    row: HomeRow
    session: Session
    told_at: float  # its `last_seen_at` when the directory was last told
    is_claimed: bool = True  # modern: the directory knows


class ReplicaHomes:
    def __init__(
        self,
        directory: Directory,
        ids: SealedIds,
        gateway: str,
        gap_s: float,
        redact: Callable[[bytes], bytes],
    ) -> None:
        self._directory = directory
        self._ids = ids
        self._gap_s = gap_s
        self._redact = redact
        self.gateway = gateway
        self._entries: dict[str, _Entry] = {}  # by key in the directory
        self._by_session: dict[str, str] = {}  # session_id to key
        self._unwritten: OrderedDict[str, HomeRow] = OrderedDict()
        self._moved: OrderedDict[str, str] = OrderedDict()  # adopted by others: key to home
        self._claims: dict[str, asyncio.Task[tuple[str, str]]] = {}  # under way, by key
        self._is_answering = True  # the directory, when it was last asked for a home
        self._is_prompt = True  # the same, and nobody waited in vain for it since
        self._writing: asyncio.Task[None] | None = None
        self._swept_at = asyncio.get_running_loop().time()
        # Told of handshake sessions that somebody else has now.
        self.on_taken: Callable[[Session], None] = lambda session: None
        self.adopted: Counter[str] = Counter()  # sessions whose home was gone, for /metrics

    # ---- handshake sessions

    def new_handshake_id(self, principal: Principal) -> str:
        return self._ids.new_handshake_id(principal.name)

    def home_of(self, handshake_id: str, principal: Principal) -> str | None:
        home = self._ids.home_in(handshake_id, principal.name)
        return None if home is None else self._moved.get(directory_key(handshake_id), home)

    async def moved_to(self, handshake_id: str) -> str | None:
        key = directory_key(handshake_id)
        try:
            row = await self._directory.home_of(key)
        except DirectoryAwayError:
            return None
        if row is None or row.is_ended or row.home == self.gateway:
            return None
        self._remember(key, row.home)
        return row.home

    async def adopt(self, handshake_id: str, principal: Principal, gone: str) -> AdoptedSession | str | None:
        key = directory_key(handshake_id)
        row = await self._move(key, gone)
        if row is None or row.is_ended or row.principal != principal.name:
            return None
        if row.home == gone:
            return None  # it is not plain
        if row.home != self.gateway:
            self._remember(key, row.home)
            return row.home
        found = read_row(row)
        if found is not None:
            self.adopted["handshake"] += 1
        return found

    def opened(self, session: Session) -> None:
        if session.handshake_id is None:
            return
        key = directory_key(session.handshake_id)
        self._moved.pop(key, None)
        written = written_of(session, self._redact)
        row = HomeRow(
            key, session.session_id, self.gateway, session.principal.name, written or "", written is not None
        )
        self._enter(row, session)
        self._write(row)

    def bound(self, session: Session) -> None:
        entry = self._entry_of(session)
        if entry is not None and entry.row.is_plain:
            entry.row = replace(entry.row, is_plain=False)
            self._write(entry.row)

    def ended(self, session: Session, *, for_good: bool) -> None:
        key = self._by_session.pop(session.session_id, None)
        entry = self._entries.pop(key, None) if key is not None else None
        if entry is not None and for_good and session.handshake_id is not None:
            self._write(replace(entry.row, is_ended=True))

    # ---- modern sessions

    def modern_key(self, parts: tuple[str | None, ...], now_s: float) -> ModernKey:
        digest, session_id = self._ids.modern(parts, now_s)
        return ModernKey(digest, session_id, parts[0] or "")

    async def claim(self, key: ModernKey) -> ModernHome:
        claim = self._claims.get(key.digest)
        if claim is None:
            if len(self._claims) >= _MAX_CLAIMS:
                return ModernHome(key.session_id, "")
            row = HomeRow(key.digest, key.session_id, self.gateway, key.principal)
            claim = asyncio.create_task(self._directory.claim(row, self._gap_s, _LATE_CLAIM_S))
            self._claims[key.digest] = claim
            claim.add_done_callback(lambda done: self._claimed(key.digest, done))
        await asyncio.wait([claim], timeout=_CLAIM_S if self._is_prompt else _CLAIM_AFTER_SILENCE_S)
        self._is_prompt &= claim.done()
        if not claim.done() or claim.cancelled() or claim.exception() is not None:
            return ModernHome(key.session_id, "")
        return ModernHome(*claim.result())

    def _claimed(self, key: str, claim: asyncio.Task[tuple[str, str]]) -> None:
        """Nobody may wait for it any more: the session was begun here meanwhile."""
        self._claims.pop(key, None)
        if claim.cancelled():
            return
        problem = claim.exception()
        self._is_answering = self._is_prompt = problem is None
        entry = self._entries.get(key)
        if problem is None and entry is not None and not entry.is_claimed:
            entry.is_claimed = True
            entry.row = replace(entry.row, home=claim.result()[1])
        elif problem is not None and not isinstance(problem, DirectoryAwayError):
            _log.error("a session could not be claimed", exc_info=problem)

    def entered(self, key: ModernKey, session: Session, home: str) -> None:
        row = HomeRow(key.digest, session.session_id, home or self.gateway, key.principal)
        self._enter(row, session, is_claimed=bool(home))

    def known_home(self, session: Session) -> str:
        entry = self._entry_of(session)
        return self.gateway if entry is None else entry.row.home

    def is_here(self, session: Session) -> bool:
        entry = self._entry_of(session)
        return entry is not None and entry.is_claimed and entry.row.home == self.gateway

    async def settled_home(self, session: Session) -> str:
        entry = self._entry_of(session)
        claim = self._claims.get(entry.row.key) if entry is not None and not entry.is_claimed else None
        if claim is not None and self._is_answering:
            await asyncio.wait([claim], timeout=_HOME_S)
        return self.known_home(session)

    async def take(self, session: Session, gone: str) -> str:
        entry = self._entry_of(session)
        if entry is None:
            return self.gateway
        row = await self._move(entry.row.key, gone)
        if row is not None:
            if row.home == self.gateway != entry.row.home:
                self.adopted["modern"] += 1
            entry.row = replace(entry.row, home=row.home)
        return entry.row.home

    # ---- with the heartbeat

    async def tell(self, since_s: float) -> None:
        """`since_s`: how long ago the heartbeat before was."""
        self._is_prompt = True  # who beats has just been answered
        try:
            await self._flush()
            await self._claim_late()
            await self._tell_seen(is_after_silence=since_s > _MISSED_BEATS_S)
            now = asyncio.get_running_loop().time()
            if now - self._swept_at > _SWEEP_EVERY_S:
                self._swept_at = now
                if await self._directory.lease("sweep of homes", self.gateway, _SWEEP_EVERY_S):
                    await self._directory.forget(_FORGET_AFTER_S)
        except DirectoryAwayError as problem:
            _log.debug("the directory was not told: %s", problem)

    async def close(self) -> None:
        if self._writing is not None:
            self._writing.cancel()
            await asyncio.wait([self._writing])
        for claim in list(self._claims.values()):
            claim.cancel()
        with contextlib.suppress(DirectoryAwayError):
            await self._flush()

    async def _tell_seen(self, *, is_after_silence: bool) -> None:
        used = {
            key: entry.session.last_seen_at
            for key, entry in self._entries.items()
            if is_after_silence or entry.session.last_seen_at > entry.told_at
        }
        if not used:
            return
        for key, home in await self._directory.saw(used):
            entry = self._entries.get(key)
            if entry is None:
                continue
            entry.told_at = used[key]
            if home != entry.row.home:
                self._heard(entry, home)

    def _heard(self, entry: _Entry, home: str) -> None:
        """Somebody else has it: a modern session's next call goes there, a handshake session is over here."""
        entry.row = replace(entry.row, home=home)
        if entry.session.handshake_id is not None:
            self._remember(entry.row.key, home)
            self.on_taken(entry.session)

    async def _claim_late(self) -> None:
        for entry in [entry for entry in self._entries.values() if not entry.is_claimed]:
            _, home = await self._directory.claim(entry.row, self._gap_s, _LATE_CLAIM_S)
            entry.is_claimed = True
            entry.row = replace(entry.row, home=home)

    # ---- writing

    def _enter(self, row: HomeRow, session: Session, *, is_claimed: bool = True) -> None:
        self._entries[row.key] = _Entry(row, session, session.last_seen_at, is_claimed)
        self._by_session[session.session_id] = row.key

    def _entry_of(self, session: Session) -> _Entry | None:
        key = self._by_session.get(session.session_id)
        return None if key is None else self._entries.get(key)

    def _write(self, row: HomeRow) -> None:
        self._unwritten[row.key] = row
        while len(self._unwritten) > _MAX_PENDING:
            self._unwritten.popitem(last=False)  # nobody can adopt it; it is served here all the same
        if self._writing is None or self._writing.done():
            self._writing = asyncio.create_task(self._write_soon())

    async def _write_soon(self) -> None:
        with contextlib.suppress(DirectoryAwayError):  # else with a heartbeat, when it is there again
            await self._flush()

    async def _flush(self) -> None:
        while self._unwritten:
            rows = dict(self._unwritten)
            await self._directory.put(list(rows.values()))
            for key, row in rows.items():
                if self._unwritten.get(key) is row:
                    del self._unwritten[key]

    async def _move(self, key: str, gone: str) -> HomeRow | None:
        try:
            return await self._directory.move(key, gone, self.gateway)
        except DirectoryAwayError as problem:
            raise replica_unreachable() from problem

    def _remember(self, key: str, home: str) -> None:
        self._moved[key] = home
        self._moved.move_to_end(key)
        while len(self._moved) > _MAX_MOVED:
            self._moved.popitem(last=False)
