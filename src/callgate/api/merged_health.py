"""The health of a server on all replicas as one: behind a balancer, each request asks another one. Pure.

Whoever is asked says the same: a server is `up` if it is up on all replicas, `down` if it is down on one.
Where replicas tell alike, the first by name speaks.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import msgspec

from callgate.api.server_shapes import ServerOnReplica, ServerReplicas
from callgate.model.health import Failure, Health, State
from callgate.ports.fleet import ReplicaFacts

_WORST_FIRST = (State.DOWN, State.STARTING, State.UP)
_MOST_TOLD = 20
_Told = tuple[str, Health]  # the name of the replica, and what it says


def merged_health(own: Sequence[Health], replicas: Sequence[ReplicaFacts]) -> list[Health]:
    """Servers of this replica's own configuration, in its order."""
    told = _by_server(replicas)
    return [_merged(entry, told.get(entry.name) or [("", entry)]) for entry in own]


def on_replicas(name: str, replicas: Sequence[ReplicaFacts]) -> ServerReplicas:
    told = _by_server(replicas).get(name, [])
    counts = Counter(health.state for _, health in told)
    not_up = [
        ServerOnReplica(
            gateway,
            health.state.value,
            None if health.since is None else datetime.fromtimestamp(health.since, UTC),
            health.detail,
            health.error_code,
        )
        for gateway, health in told
        if health.state is not State.UP
    ]
    return ServerReplicas(
        len(told), counts[State.UP], counts[State.STARTING], counts[State.DOWN], not_up[:_MOST_TOLD]
    )


def _by_server(replicas: Sequence[ReplicaFacts]) -> dict[str, list[_Told]]:
    told: dict[str, list[_Told]] = {}
    for replica in sorted(replicas, key=lambda one: one.gateway):
        for health in replica.servers:
            told.setdefault(health.name, []).append((replica.gateway, health))
    return told


def _merged(own: Health, told: Sequence[_Told]) -> Health:
    state = min((health.state for _, health in told), key=_WORST_FIRST.index)
    such = [(gateway, health) for gateway, health in told if health.state is state]
    _, first = such[0]
    detail = first.detail or own.detail
    if len(such) < len(told):
        where = f"on {len(such)} of {len(told)} replicas ({such[0][0]}{'…' if len(such) > 1 else ''})"
        detail = f"{state.value} {where}: {detail}"
    since = [health.since for _, health in such if health.since is not None]
    return replace(
        own,
        state=state,
        detail=detail,
        error_code=first.error_code,
        # Up is up everywhere: since the last one is.
        since=(max if state is State.UP else min)(since) if since else None,
        era=_any([health.era for _, health in told]),
        version=_any([health.version for _, health in told]),
        protocol=_any([health.protocol for _, health in told]),
        stderr_tail=first.stderr_tail if state is not State.UP else own.stderr_tail,
        last_failure=_last([health.last_failure for _, health in told]),
    )


def _any(values: Sequence[str | None]) -> str | None:
    return next((value for value in values if value), None)


def _last(failures: Sequence[Failure | None]) -> Failure | None:
    return max((one for one in failures if one is not None), key=lambda one: one.at, default=None)


def problems_of_workers(told: Mapping[int, bytes | None]) -> list[str]:
    """Of one machine, from what each says at /healthz. Their servers are told by `merged_health`."""
    problems: list[str] = []
    for number, raw in told.items():
        if raw is None:
            problems.append(f"Worker {number} does not answer. It is started again when it ends")
            continue
        body: dict[str, Any] = msgspec.json.decode(raw)
        wrong: list[str] = [*body.get("problems", ())]
        if body.get("record"):
            wrong.append(body["record"])
        problems += [f"Worker {number}: {text}" for text in wrong]
    return problems
