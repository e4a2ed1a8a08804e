"""What became no exchange: kept as a row, redacted; and a flood of it is a number, not a full disk."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from recorder.happenings import NOW_S, Open, Record, a_session, opened, settled

from callgate.model.events import Aside, NoticePassed
from callgate.model.exchange import EndedBy, Outcome, Settlement
from callgate.model.identity import new_exchange_id
from callgate.ports.record_queries import Query
from callgate.ports.record_reader import EventFilter
from callgate.recorder.asides import AT_THE_DOOR, DURING_CALLS, OF_A_SERVER, Asides

CODE = "refused.unauthenticated"


def refused(code: str = CODE, error: str = "A bearer token is needed", **changed: Any) -> Aside:
    settlement = Settlement(Outcome.REFUSED, EndedBy.GATEWAY, error_code=code, error=error)
    told: dict[str, Any] = {"method": "POST /mcp", "client": "127.0.0.1", "settlement": settlement}
    return Aside(event_id=new_exchange_id(NOW_S), at_s=NOW_S, **(told | changed))


def said(server: str = "mail", **changed: Any) -> Aside:
    told: dict[str, Any] = {"method": "notifications/x", "sender": "server", "is_notification": True}
    told |= {"server_name": server, "settlement": Settlement(Outcome.ANSWERED, EndedBy.GATEWAY)}
    return refused(**(told | changed))


async def ask(record: Record, sql: str) -> list[tuple[Any, ...]]:
    return [tuple(row) for row in (await record.queries.query(Query(sql))).rows]


async def test_a_refusal_is_a_row_without_a_session_and_makes_none(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(opened(a_session()))
    record.emit(settled(a_session()))
    record.emit(refused(params=b'{"password":"hunter2"}', size_bytes=22, rpc_id=b"7", principal="alice"))
    (row,) = (await record.reader.events(EventFilter(only={"outcome": ("refused",)}), 10)).rows
    assert (row["session_id"], row["method"], row["client"]) == (None, "POST /mcp", "127.0.0.1")
    assert (row["error_code"], row["ok"], row["ended_by"]) == (CODE, False, "gateway")
    assert (row["principal"], row["rpc_id"], row["kind"], row["sender"]) == (
        "alice",
        "7",
        "request",
        "client",
    )
    assert (row["request_json"], row["is_redacted"]) == ('{"password":"***"}', True)
    assert await ask(record, "SELECT session_id, error_count FROM sessions") == [("s-1", 0)]


async def test_the_tool_and_the_server_of_a_refused_call_are_columns(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(refused(method="tools/call", tool_name="mail__send", server_name="mail"))
    record.emit(refused(method="tools/call", tool_name="postgres://u:hunter2@h/db"))
    found = await ask(record, "SELECT tool_name, server_name FROM rpc_events ORDER BY server_name NULLS LAST")
    assert found[0] == ("mail__send", "mail")
    assert "hunter2" not in found[1][0]


async def test_its_texts_are_redacted_too(open_recorder: Open) -> None:
    record = open_recorder(True)
    secret = "postgres://u:hunter2@h/db"
    record.emit(refused(error=f"Origin {secret} may not", client=secret, method=f"POST /{secret}"))
    (found,) = await ask(record, "SELECT error, client, method FROM rpc_events")
    assert "hunter2" not in repr(found)


async def test_what_a_server_says_to_a_session_counts_there(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(opened(a_session()))
    record.emit(said(session_id="s-1", params=b'{"a":1}', size_bytes=7))
    assert await ask(record, "SELECT session_id, sender, kind, server_name, ok FROM rpc_events") == [
        ("s-1", "server", "notification", "mail", True)
    ]
    assert await ask(record, "SELECT total_tokens > 0 FROM sessions") == [(True,)]


async def test_a_flood_is_a_hundred_rows_and_an_exact_number(open_recorder: Open, tmp_path: Path) -> None:
    record = open_recorder(True)
    flood = 20_000
    for _ in range(flood):
        record.emit(refused(params=b"x" * 10_000, size_bytes=10_000))
    record.emit(settled(a_session()))
    ((kept,),) = await ask(record, f"SELECT count(*) FROM rpc_events WHERE error_code = '{CODE}'")
    ((counted, reasons),) = await ask(record, "SELECT sum(count)::BIGINT, list(DISTINCT reason) FROM gaps")
    assert AT_THE_DOOR.burst <= kept < AT_THE_DOOR.burst + 10
    assert kept + counted == flood
    assert reasons == [f"counted, not recorded one by one: {CODE}"]
    assert await ask(record, "SELECT count(*) FROM rpc_events WHERE method = 'tools/call'") == [(1,)]
    assert sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file()) < 8 * 1024 * 1024


async def test_the_number_is_written_at_the_end_too(open_recorder: Open) -> None:
    record = open_recorder(True)
    for _ in range(AT_THE_DOOR.burst + 50):
        record.emit(refused())
    await record.close()
    again = open_recorder(True)
    ((total,),) = await ask(again, "SELECT (SELECT count(*) FROM rpc_events) + (SELECT sum(count) FROM gaps)")
    assert int(total) == AT_THE_DOOR.burst + 50


def told_during_a_call(sender: str = "server") -> NoticePassed:
    exchange = settled(a_session(), method="notifications/message", params=b'{"data":"line"}').exchange
    exchange.sender, exchange.server_name = sender, "mail"
    return NoticePassed(exchange)


async def test_a_flood_of_log_lines_during_calls_is_rows_first_and_then_a_number(open_recorder: Open) -> None:
    record = open_recorder(True)
    record.emit(opened(a_session()))
    for _ in range(DURING_CALLS.burst + 500):
        record.emit(told_during_a_call())
    record.emit(told_during_a_call("client"))
    ((server, client),) = await ask(
        record,
        "SELECT count(*) FILTER (sender = 'server'), count(*) FILTER (sender = 'client') FROM rpc_events",
    )
    ((counted, reason),) = await ask(record, "SELECT sum(count), max(reason) FROM gaps")
    assert DURING_CALLS.burst <= int(server) < DURING_CALLS.burst + 500
    assert int(server) + int(counted) == DURING_CALLS.burst + 500
    assert "said during calls by mail" in reason
    assert int(client) == 1


@dataclass
class Clock:
    asides: Asides
    now: float = 100.0

    def kept(self, aside: Aside, times: int) -> int:
        return sum(self.asides.admit(aside, self.now) for _ in range(times))


@pytest.fixture
def clock() -> Clock:
    return Clock(Asides())


def test_one_kind_leaves_the_others_their_rows(clock: Clock) -> None:
    assert clock.kept(refused(), 1000) == AT_THE_DOOR.burst
    assert clock.kept(refused("refused.host"), 3) == 3
    assert clock.kept(said(), OF_A_SERVER.burst + 5) == OF_A_SERVER.burst
    assert clock.kept(said("other"), 3) == 3


def test_time_brings_rows_back_up_to_the_burst(clock: Clock) -> None:
    clock.kept(refused(), 1000)
    clock.now += 3 / AT_THE_DOOR.per_s
    assert clock.kept(refused(), 1000) == 3
    clock.now += 1_000_000
    assert clock.kept(refused(), 1000) == AT_THE_DOOR.burst


def test_the_numbers_are_told_now_and_then_or_when_they_are_asked_for(clock: Clock) -> None:
    clock.kept(refused(), AT_THE_DOOR.burst + 7)
    clock.kept(said("mail"), OF_A_SERVER.burst + 2)
    first = clock.asides.take_counted(clock.now, at_once=False)
    assert [(row.count, row.reason.rpartition(": ")[2]) for row in first] == [(7, CODE), (2, "said by mail")]
    clock.kept(refused(), 4)
    assert clock.asides.take_counted(clock.now + 1, at_once=False) == []
    assert [row.count for row in clock.asides.take_counted(clock.now + 1, at_once=True)] == [4]
    assert clock.asides.take_counted(clock.now + 100, at_once=True) == []
