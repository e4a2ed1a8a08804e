"""`GET /api/v1/replicas`: who lives, since when, what is otherwise there, and how late its record is."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Literal, cast

import msgspec

from callgate.api.merged_health import merged_health
from callgate.api.operation import Asked, Operation
from callgate.model.health import Health, State
from callgate.model.identity import Role
from callgate.ports.fleet import Difference, Fleet, ReplicaFacts
from callgate.ports.status import Status


class DownServer(msgspec.Struct):
    name: str
    detail: str
    code: str | None


class ReplicaShape(msgspec.Struct, kw_only=True):
    name: str  # new with every start
    is_this: bool  # the one that answered
    state: Literal["serving", "leaving"]  # leaving: it stops, and still serves
    address: str | None  # where other replicas reach it; null: they cannot
    version: str
    started_at: datetime
    silent_s: float  # since its last heartbeat
    clock_offset_s: float | None  # how far its clock is ahead of the database's
    differs: list[Difference]  # from most of the others, for a minute or longer
    flush_lag_s: float | None  # how long what is not stored has waited, told in whole seconds from 3 on
    journal_bytes: int | None  # what waits there to be stored, told in whole MiB
    servers_up: int
    down: list[DownServer]  # sources and servers that are down there


class ReplicaList(msgspec.Struct):
    replicas: list[ReplicaShape]  # the oldest first; empty: this gateway is alone
    total: int
    next_cursor: str | None
    problems: list[str]  # what differs or is late among them, and what to do


class ReplicasApi:
    def __init__(self, fleet: Fleet | None, redact: Callable[[str], str]) -> None:
        self._fleet = fleet
        self._redact = redact

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/replicas",
                "listReplicas",
                "The replicas of this gateway that live; none when it is alone",
                self.replicas,
                ReplicaList,
                role=Role.WATCH,
            )
        ]

    async def replicas(self, asked: Asked[None, None]) -> ReplicaList:
        if self._fleet is None:
            return ReplicaList([], 0, None, [])
        await self._fleet.look()
        found = [self._shape(one) for one in self._fleet.replicas()]
        return ReplicaList(found, len(found), None, list(self._fleet.problems()))

    def _shape(self, one: ReplicaFacts) -> ReplicaShape:
        return ReplicaShape(
            name=one.gateway,
            is_this=one.is_this,
            state=cast(Literal["serving", "leaving"], one.state),
            address=one.address or None,
            version=one.version,
            started_at=datetime.fromtimestamp(one.started_at, UTC),
            silent_s=round(one.silent_s, 1),
            clock_offset_s=None if one.clock_offset_s is None else round(one.clock_offset_s, 3),
            differs=list(one.differs),
            flush_lag_s=one.flush_lag_s,
            journal_bytes=one.journal_bytes,
            servers_up=sum(server.state is State.UP for server in one.servers),
            down=[
                DownServer(server.name, self._redact(server.detail), server.error_code)
                for server in one.servers
                if server.state is State.DOWN
            ],
        )


def replica_in_short(one: ReplicaFacts) -> dict[str, Any]:
    """For /healthz."""
    body: dict[str, Any] = {"name": one.gateway, "state": one.state, "version": one.version}
    if one.differs:
        body["differs"] = list(one.differs)
    if one.clock_offset_s is not None:
        body["clock_offset_s"] = round(one.clock_offset_s, 3)
    return body


class SharedStatus:
    """A `ports.Status` whose health is that of all replicas."""

    def __init__(self, own: Status, fleet: Fleet) -> None:
        self._fleet = fleet
        self._own = own
        self.tools = own.tools
        self.lacking = own.lacking
        self.find_tools = own.find_tools

    def health(self) -> list[Health]:
        return merged_health(self._own.health(), self._fleet.replicas())

    @property
    def catalog_version(self) -> int:
        return self._own.catalog_version
