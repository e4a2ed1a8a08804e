"""A piece of an id leads where the whole id does, or says between which rows one has to choose."""

import pytest
from api.conftest import Stage
from recorder.happenings import NOW_S, a_session, opened, settled

ONE = "01a1dd97-d747-7a0d-9d0b-54224c482ff6"
TWO = "01a1dd97-d747-7b0d-9d0b-54224c48aaaa"


@pytest.fixture
def ids(stage: Stage) -> tuple[str, str]:
    """Of two calls, in sessions of their own."""
    found: list[str] = []
    for number, session_id in enumerate((ONE, TWO)):
        session = a_session(session_id)
        event = settled(session, NOW_S + number)
        stage.emit(opened(session))
        stage.emit(event)
        found.append(event.exchange.exchange_id)
    return found[0], found[1]


async def test_a_session_is_found_by_its_beginning_and_by_its_end(stage: Stage, ids: tuple[str, str]) -> None:
    for piece in (ONE, ONE[-8:], ONE[-4:], ONE[:16], ONE[-8:].upper()):
        assert (await stage.get(f"/api/v1/sessions/{piece}"))["session_id"] == ONE
        (call,) = (await stage.get(f"/api/v1/sessions/{piece}/tool-calls"))["tool_calls"]
        assert call["id"] == ids[0]
        assert (await stage.get(f"/api/v1/sessions/{piece}/timeline"))["session"]["session_id"] == ONE


async def test_a_call_and_an_exchange_are_found_by_a_piece(stage: Stage, ids: tuple[str, str]) -> None:
    for whole in ids:
        for piece in (whole, whole[-8:]):
            assert (await stage.get(f"/api/v1/tool-calls/{piece}"))["id"] == whole
            found = await stage.get(f"/api/v1/exchanges/{piece}")
            assert (found["id"], len(found["hops"])) == (whole, 1)
            replayed = await stage.ask(f"/api/v1/tool-calls/{piece}/replay", {})
            assert (replayed.status, replayed.json["error"]) == (200, None)


@pytest.mark.parametrize("path", ["tool-calls", "exchanges"])
async def test_filters_take_a_piece_of_a_session_s_id(stage: Stage, ids: tuple[str, str], path: str) -> None:
    key = path.replace("-", "_")
    for query, wanted in ((f"session_id={TWO[-8:]}", ids[1]), (f"not_session_id={TWO[-8:]}", ids[0])):
        (found,) = (await stage.get(f"/api/v1/{path}?{query}"))[key]
        assert found["id"] == wanted
    stats = await stage.get(f"/api/v1/stats?since=2020-01-01T00:00:00Z&session_id={TWO[-8:]}")
    assert stats["totals"]["calls"] == 1


@pytest.mark.parametrize(
    "path", ["sessions/{}", "sessions/{}/timeline", "tool-calls?session_id={}", "export?session_id={}"]
)
async def test_several_are_named(stage: Stage, ids: tuple[str, str], path: str) -> None:
    answer = await stage.ask(f"/api/v1/{path.format('01a1dd97')}")
    problem = answer.json
    assert (answer.status, problem["code"]) == (409, "caller.ambiguous_id")
    assert f"{TWO}, {ONE}" in problem["hint"]


@pytest.mark.parametrize("piece", ["54224c48ffff", "2ff", "%", "____", "%25%25%25%25", "*", "-"])
async def test_what_is_no_piece_of_any_is_not_found(stage: Stage, ids: tuple[str, str], piece: str) -> None:
    for path in ("sessions", "tool-calls", "exchanges"):
        assert (await stage.ask(f"/api/v1/{path}/{piece}")).status == 404


@pytest.mark.parametrize("path", ["/api/v1/sessions/abc", "/api/v1/tool-calls/abc", "/api/v1/exchanges/abc"])
async def test_a_piece_that_is_too_short_says_so(stage: Stage, ids: tuple[str, str], path: str) -> None:
    answered = await stage.ask(path)
    assert answered.status == 404
    assert "first or last 4 characters" in answered.json["hint"]
    unknown = await stage.ask(f"{path}def0")
    assert "hint" not in unknown.json
