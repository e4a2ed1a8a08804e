"""This gateway among its replicas: every part made, started and ended. Imported only with `[replicas]`."""

from collections.abc import Callable
from dataclasses import dataclass

import callgate
from callgate.app.membership import MemberParts, Membership, make_parts
from callgate.app.principals import tokens_in_short
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config
from callgate.config.specs.listen_address import ListenAddress, ListenError, parse_host, parse_host_and_port
from callgate.edge.hop_listener import HopListener
from callgate.edge.listener import Listener
from callgate.replicas.comparison import problems_of
from callgate.replicas.directory import Announcement, DirectoryAwayError
from callgate.replicas.fleet import ReplicaFleet, tokens_digest
from callgate.replicas.members import Members
from callgate.replicas.postgres_directory import RIGHTS, PostgresDirectory
from callgate.replicas.sealed_ids import new_gateway_name


class Replicas(Membership):
    def __init__(self, parts: MemberParts, directory: PostgresDirectory) -> None:
        super().__init__(parts)
        self._directory = directory

    async def start(self, config: Config, public: Listener) -> None:
        """Raises SetupError when the address is taken."""
        spec = config.replicas
        port = 0
        if self.peers is not None:
            self.listener = HopListener(public, self.gate)
            port = await self.listener.start(spec.listen.host, spec.listen.port)
        has_peers = self.peers is not None
        await self.join(lambda: self._address(spec.advertise, port) if has_peers else "")

    def _address(self, advertise: str | None, port: int) -> str:
        if advertise is None:
            host = self._directory.own_host
            return str(ListenAddress(host, port)) if host else ""
        try:
            return str(parse_host_and_port(advertise))
        except ListenError:
            return str(ListenAddress(parse_host(advertise), port))


def open_replicas(
    config: Config, key: bytes, redact: Callable[[str], str], redact_document: Callable[[bytes], bytes]
) -> Replicas:
    database = config.replicas.database
    assert database is not None
    directory = PostgresDirectory(database.dsn)
    me = Announcement(new_gateway_name(), "", "", "serving", callgate.__version__, fingerprint(config))
    members = Members(directory, me, key)
    fleet = ReplicaFleet(directory, members, tokens_digest(key, tokens_in_short(config)), redact)
    gap_s, has_peers = config.record.session_gap_s, config.replicas.peers == "on"
    return Replicas(
        make_parts(members, directory, key, gap_s, redact_document, fleet, has_peers=has_peers), directory
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
            if not await directory.may_make():
                raise DirectoryAwayError(f"its tables cannot be made: {RIGHTS}")
            return ReplicasSeen(0, True, None, ())
        me = Announcement("doctor--", "", "", "serving", callgate.__version__, fingerprint(config))
        members = Members(directory, me, key)
        await members.look()
        if members.trouble:
            raise DirectoryAwayError(members.trouble)
        fleet = ReplicaFleet(directory, members, tokens_digest(key, tokens_in_short(config)), str)
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
