"""How all replicas are doing: the same from whichever is asked, without secrets, and never without an end."""

import json
from dataclasses import replace

import pytest
from replicas.test_members import KEY, OTHER, Scene

from callgate.model.health import Failure, Health, State
from callgate.replicas.comparison import Compared, differences, problems_of
from callgate.replicas.fleet import ReplicaFleet, tokens_digest
from callgate.replicas.reports import MAX_REPORT_BYTES, decode_report, encode_report, report_of

UP = Health("shop", "sql", State.UP, "MySQL, read-only", version="8.4", since=5.0)
DOWN = Health(
    "files", "mcp", State.DOWN, "It ended: key=hunter2", "upstream.down", stderr_tail=("hunter2",) * 9,
    since=7.0, last_failure=Failure(6.0, "key=hunter2", "upstream.down"),
)  # fmt: skip


def hide(text: str) -> str:
    return text.replace("hunter2", "***")


def fleet_of(scene: Scene) -> ReplicaFleet:
    fleet = ReplicaFleet(scene.told, scene.members, "t", hide)
    fleet.health = lambda: (UP, DOWN)
    return fleet


def test_a_report_says_why_a_server_is_down_and_holds_no_secret() -> None:
    text = encode_report(report_of([UP, DOWN], hide))
    assert "hunter2" not in text
    shop, files = decode_report(text).servers()
    assert (shop.state, shop.version, shop.since) == (State.UP, "8.4", 5.0)
    assert (files.state, files.detail, files.error_code) == (State.DOWN, "It ended: key=***", "upstream.down")
    assert files.last_failure == Failure(6.0, "key=***", "upstream.down")
    assert files.stderr_tail == ("***",) * 5


def test_a_report_of_many_servers_is_bounded_and_keeps_those_that_are_down() -> None:
    many = [replace(UP, name=f"up{index}", detail="x" * 5000) for index in range(900)]
    text = encode_report(report_of([*many, replace(DOWN, detail="y" * 5000)], hide))
    assert len(text.encode()) <= MAX_REPORT_BYTES
    assert "files" in {one.name for one in decode_report(text).servers()}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"parts": [{"name": 1}]}', "[" * 100_000, '{"parts": 3}'])
def test_a_report_that_cannot_be_read_tells_nothing(text: str) -> None:
    assert decode_report(text).servers() == ()


async def test_what_others_tell_is_shown_until_they_leave_or_fall_silent(scene: Scene) -> None:
    fleet = fleet_of(scene)
    await scene.other()
    scene.told.told[OTHER] = encode_report(report_of([replace(UP, state=State.DOWN)], hide))
    await fleet.look()
    by_name = {one.gateway: one for one in fleet.replicas()}
    assert [server.state for server in by_name[OTHER].servers] == [State.DOWN]
    assert by_name["MEmeMEme"].is_this
    assert fleet.counts().living == 2
    (member,) = scene.told.rows
    for gone in (
        replace(member, said=replace(member.said, state="left")),
        replace(member, silent_s=16.0),
        replace(member, said=replace(member.said, seal="forged")),
    ):
        scene.told.rows = [gone]
        await scene.members.look()
        assert [one.gateway for one in fleet.replicas()] == ["MEmeMEme"]


async def test_what_we_are_is_told_when_it_changed(scene: Scene) -> None:
    fleet = fleet_of(scene)
    await fleet.tell()
    first = scene.told.told.pop("MEmeMEme")
    assert {part["name"] for part in json.loads(first)["parts"]} == {"shop", "files"}
    await fleet.tell()
    assert scene.told.told == {}
    fleet.health = lambda: (UP,)
    await fleet.tell()
    assert "files" not in scene.told.told["MEmeMEme"]


async def test_while_the_directory_is_away_what_was_known_last_is_shown_and_said_to_be(scene: Scene) -> None:
    fleet = fleet_of(scene)
    await scene.other()
    await fleet.look()
    scene.told.is_away = True
    await scene.members.look()
    assert len(fleet.replicas()) == 2
    assert "[replicas] database" in fleet.problems()[0]
    assert fleet.counts().is_directory_away


async def test_connections_are_shared_by_those_that_live(scene: Scene) -> None:
    fleet = fleet_of(scene)
    heard: list[int] = []
    fleet.on_living = heard.append
    await scene.other()
    for rows in (scene.told.rows, scene.told.rows, []):
        scene.told.rows = rows
        await scene.members.look()
        await fleet.tell()
    assert heard == [2, 1]


@pytest.fixture
def scene() -> Scene:
    return Scene()


def compared(gateway: str, age_s: float = 100.0, **change: str) -> Compared:
    return replace(Compared(gateway, "1", "same", "t", age_s), **change)


def test_whoever_has_it_otherwise_than_most_is_named_once_it_is_settled() -> None:
    replicas = [compared("a"), compared("b"), compared("c", fingerprint="other", tokens="u")]
    assert differences(replicas) == {"c": ("configuration", "tokens")}
    assert differences([*replicas[:2], replace(replicas[2], age_s=59.0)]) == {}
    # Of two alike in number, the younger.
    assert differences([compared("a", 70.0), compared("b", 80.0, fingerprint="o")]) == {
        "a": ("configuration",)
    }


def test_two_versions_are_not_told_that_their_configurations_differ() -> None:
    replicas = [compared("a"), compared("b"), compared("c", version="2", fingerprint="with new keys")]
    assert differences(replicas) == {"c": ("version",)}
    assert problems_of(differences(replicas), {}) == []


def test_a_clock_that_is_wrong_by_more_than_a_second_is_named() -> None:
    (said,) = problems_of({}, {"a": 0.9, "b": -1.2, "c": None})
    assert "replica b is 1.2 s behind" in said


async def test_our_own_clock_is_told_with_the_heartbeat(scene: Scene) -> None:
    scene.told.clock_offset_s = 2.5
    await scene.members.start(lambda: "10.0.0.1:1")
    await scene.members.leave()
    assert scene.members.me.clock_offset_ms == 2500


def test_tokens_are_compared_by_a_digest_that_shows_which_is_whose() -> None:
    one = tokens_digest(KEY, [("secret-a", "ann"), ("secret-b", "bob")])
    assert one == tokens_digest(KEY, [("secret-b", "bob"), ("secret-a", "ann")])
    assert one != tokens_digest(KEY, [("secret-b", "ann"), ("secret-a", "bob")])
    assert one != tokens_digest(b"another key", [("secret-a", "ann"), ("secret-b", "bob")])
