"""This gateway among its replicas: every part made, started and ended. Imported only with `[replicas]`."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass

import callgate
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config
from callgate.config.specs.listen_address import ListenAddress, ListenError, parse_host, parse_listen
from callgate.edge.hop_listener import HopListener
from callgate.edge.listener import Listener
from callgate.replicas.comparison import problems_of
from callgate.replicas.directory import Announcement
from callgate.replicas.fleet import ReplicaFleet, tokens_digest
from callgate.replicas.homes import ReplicaHomes
from callgate.replicas.hop_client import HopClient
from callgate.replicas.hop_gate import SignedHopGate
from callgate.replicas.hop_seal import HopSeal
from callgate.replicas.members import Members
from callgate.replicas.postgres_directory import PostgresDirectory
from callgate.replicas.sealed_ids import SealedIds, new_gateway_name
from callgate.upstreams.http.streamed_answer import StreamingTransport


@dataclass(slots=True)
class Replicas:
    homes: ReplicaHomes
    members: Members
    peers: HopClient | None  # None: replicas cannot reach one another
    gate: SignedHopGate
    fleet: ReplicaFleet
    directory: PostgresDirectory
    transport: StreamingTransport
    listener: HopListener | None = None

    async def start(self, config: Config, public: Listener) -> None:
        """Raises SetupError when the address is taken. A directory that is away is no reason not to start."""
        spec = config.replicas
        port = 0
        if self.peers is not None:
            self.listener = HopListener(public, self.gate)
            port = await self.listener.start(spec.listen.host, spec.listen.port)
        self.members.after_beat = self._after_beat
        has_peers = self.peers is not None
        await self.members.start(lambda: self._address(spec.advertise, port) if has_peers else "")
        await self.fleet.tell()
        self.fleet.start()

    async def _after_beat(self, since_s: float) -> None:
        await self.homes.tell(since_s)
        await self.fleet.tell()

    def _address(self, advertise: str | None, port: int) -> str:
        if advertise is None:
            host = self.directory.own_host
            return str(ListenAddress(host, port)) if host else ""
        try:
            return str(parse_listen(advertise))
        except ListenError:
            return str(ListenAddress(parse_host(advertise), port))

    async def say_leaving(self) -> None:
        if self.members.is_started and self.members.me.state == "serving":
            await self.members.say("leaving")

    async def close_doors(self) -> None:
        if self.listener is not None:
            await self.listener.close()

    async def close(self) -> None:
        """When all sessions were let go of: whoever hears that we left may have them."""
        await self.fleet.close()
        await self.homes.close()
        await self.members.leave()
        await asyncio.gather(self.transport.close(), self.directory.close())


def open_replicas(
    config: Config, key: bytes, redact: Callable[[str], str], redact_document: Callable[[bytes], bytes]
) -> Replicas:
    database = config.replicas.database
    assert database is not None
    gap_s = config.record.session_gap_s
    gateway = new_gateway_name()
    seal = HopSeal(key)
    directory = PostgresDirectory(database.dsn)
    me = Announcement(gateway, "", "", "serving", callgate.__version__, fingerprint(config))
    members = Members(directory, me, key)
    transport = StreamingTransport()
    homes = ReplicaHomes(directory, SealedIds(key, gateway, gap_s), gateway, gap_s, redact_document)
    peers = HopClient(members, seal, transport) if config.replicas.peers == "on" else None
    fleet = ReplicaFleet(directory, members, tokens_digest(key, _tokens(config)), redact)
    fleet.adopted = homes.adopted
    if peers is not None:
        fleet.hops = peers.outcomes
    return Replicas(
        homes=homes,
        members=members,
        peers=peers,
        gate=SignedHopGate(seal, gateway),
        fleet=fleet,
        directory=directory,
        transport=transport,
    )


@dataclass(frozen=True, slots=True)
class ReplicasSeen:
    """What the directory tells somebody who is not a replica."""

    living: int
    is_as_configured: bool  # those that live run this very configuration
    offset_s: float | None  # how far the clock here is ahead of the database's
    problems: tuple[str, ...]


async def look_at_replicas(config: Config, key: bytes) -> ReplicasSeen:
    """For `callgate doctor`: changes nothing. Raises DirectoryAwayError."""
    database = config.replicas.database
    assert database is not None
    directory = PostgresDirectory(database.dsn, makes_tables=False)
    try:
        if not await directory.is_made():
            return ReplicasSeen(0, True, None, ())
        me = Announcement("doctor--", "", "", "serving", callgate.__version__, fingerprint(config))
        members = Members(directory, me, key)
        await members.look()
        fleet = ReplicaFleet(directory, members, tokens_digest(key, _tokens(config)), str)
        await fleet.look()
    finally:
        await directory.close()
    others = [one for one in members.living() if one.said.gateway != me.gateway]
    facts = [one for one in fleet.replicas() if not one.is_this]
    offsets_s = {one.gateway: one.clock_offset_s for one in facts}
    same_version = [one.said.fingerprint for one in others if one.said.version == me.version]
    return ReplicasSeen(
        len(others),
        not same_version or me.fingerprint in same_version,
        directory.clock_offset_s,
        tuple(problems_of({one.gateway: one.differs for one in facts}, offsets_s)),
    )


def _tokens(config: Config) -> list[tuple[str, str]]:
    return [(one.token.get_secret_value(), one.principal) for one in config.server.tokens]
