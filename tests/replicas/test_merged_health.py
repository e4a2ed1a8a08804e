"""A server's health on all replicas as one: whichever replica is asked, the answer is the same."""

from dataclasses import replace

from callgate.api.merged_health import merged_health, on_replicas
from callgate.model.health import Failure, Health, State
from callgate.ports.fleet import ReplicaFacts

UP = Health("shop", "sql", State.UP, "MySQL, read-only", version="8.4", since=5.0, notes=("a note",))
DOWN = replace(
    UP, state=State.DOWN, detail="It refuses connections", error_code="source.unavailable",
    version=None, since=9.0, last_failure=Failure(8.0, "refused"), stderr_tail=("tail",),
)  # fmt: skip


def replica(name: str, *servers: Health) -> ReplicaFacts:
    return ReplicaFacts(name, False, "serving", "", "1", 0.0, 0.0, None, (), servers, None, None)


def test_down_on_one_is_down_and_says_where_and_why() -> None:
    replicas = [replica("b", DOWN), replica("a", UP), replica("c", replace(UP, since=7.0))]
    (from_b,), (from_a,) = merged_health([DOWN], replicas), merged_health([UP], replicas)
    assert replace(from_b, notes=()) == replace(from_a, notes=())
    assert from_a.state is State.DOWN
    assert from_a.detail == "down on 1 of 3 replicas (b): It refuses connections"
    assert (from_a.error_code, from_a.since, from_a.version) == ("source.unavailable", 9.0, "8.4")
    assert (from_a.stderr_tail, from_a.last_failure) == (("tail",), Failure(8.0, "refused"))
    told = on_replicas("shop", replicas)
    assert (told.total, told.up, told.starting, told.down) == (3, 2, 0, 1)
    assert [(one.replica, one.detail) for one in told.not_up] == [("b", "It refuses connections")]


def test_up_is_up_everywhere_and_since_the_last_one_is() -> None:
    replicas = [replica("a", UP), replica("b", replace(UP, since=7.0))]
    (merged,) = merged_health([UP], replicas)
    assert merged == replace(UP, since=7.0)
    starting = [*replicas, replica("c", replace(UP, state=State.STARTING, since=None))]
    assert merged_health([UP], starting)[0].state is State.STARTING


def test_a_replica_that_has_not_told_yet_does_not_count() -> None:
    (merged,) = merged_health([UP], [replica("a", UP), replica("b")])
    assert merged == UP
    assert on_replicas("shop", [replica("a", UP), replica("b")]).total == 1
    assert merged_health([UP], []) == [UP]
