"""This gateway among others that are one gateway with it: replicas on machines, or workers on one.

Imported only where there are others. Owns what is the same for both: the parts, how they begin, and how they
end.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace

from callgate.app.principals import tokens_in_short
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config
from callgate.edge.hop_listener import HopListener
from callgate.replicas.directory import Directory
from callgate.replicas.fleet import ReplicaFleet, tokens_digest
from callgate.replicas.homes import ReplicaHomes
from callgate.replicas.hop_client import HopClient
from callgate.replicas.hop_gate import SignedHopGate
from callgate.replicas.hop_seal import HopSeal
from callgate.replicas.members import Members
from callgate.replicas.sealed_ids import SealedIds
from callgate.replicas.streamed_answer import StreamingTransport


@dataclass(slots=True, kw_only=True)
class MemberParts:
    homes: ReplicaHomes
    members: Members
    peers: HopClient | None  # None: the others cannot be reached
    gate: SignedHopGate
    fleet: ReplicaFleet
    directory: Directory
    transport: StreamingTransport
    key: bytes  # what replicas sign with


class Membership:
    def __init__(self, parts: MemberParts) -> None:
        self.homes = parts.homes
        self.members = parts.members
        self.peers = parts.peers
        self.gate = parts.gate
        self.fleet = parts.fleet
        self.listener: HopListener | None = None
        self._parts = parts

    async def join(self, address: Callable[[], str]) -> None:
        """A directory that is away is no reason not to start."""
        self.members.after_beat = self._after_beat
        await self.members.start(address)
        await self.fleet.tell()
        self.fleet.start()

    def runs(self, config: Config) -> None:
        """What this gateway serves from now on; the others hear of it with the next heartbeat."""
        self.members.me = replace(self.members.me, fingerprint=fingerprint(config))
        if self.fleet.tokens:
            self.fleet.tokens = tokens_digest(self._parts.key, tokens_in_short(config))

    async def _after_beat(self, since_s: float) -> None:
        await self.homes.tell(since_s)
        await self.fleet.tell()

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
        await asyncio.gather(self._parts.transport.close(), self._parts.directory.close())


def make_parts(
    members: Members,
    directory: Directory,
    key: bytes,
    gap_s: float,
    redact_document: Callable[[bytes], bytes],
    fleet: ReplicaFleet,
    *,
    has_peers: bool = True,
) -> MemberParts:
    """`gap_s`: how long a modern session may be silent."""
    gateway, seal, transport = members.me.gateway, HopSeal(key), StreamingTransport()
    homes = ReplicaHomes(directory, SealedIds(key, gateway, gap_s), gateway, gap_s, redact_document)
    peers = HopClient(members, seal, transport) if has_peers else None
    fleet.adopted = homes.adopted
    if peers is not None:
        fleet.hops = peers.outcomes
    return MemberParts(
        homes=homes,
        members=members,
        key=key,
        peers=peers,
        gate=SignedHopGate(seal, gateway),
        fleet=fleet,
        directory=directory,
        transport=transport,
    )
