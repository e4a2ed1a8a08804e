"""What calls have in common is written once: the rows are those that each would have made by itself."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from examples import examples
from hypothesis import given, settings
from hypothesis import strategies as st
from recorder.happenings import ROW_REDACTOR, a_session, opened, settled

from callgate.model.exchange import EndedBy, Exchange, Outcome, Settlement, StatementFacts, Trace
from callgate.model.identity import Principal
from callgate.recorder.build_rows import event_row
from callgate.recorder.call_columns import read_event_rows
from callgate.recorder.call_rows import Calls
from callgate.recorder.flush.batch import Batch
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Grouper
from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS
from callgate.recorder.journal.journal import JournalWriter, read_frames
from callgate.recorder.losses import Losses
from callgate.recorder.sequence import Sequence

_NAMES = st.sampled_from(["a", "b", "größe", "x" * 200])
_MOMENTS = st.floats(10.0, 20.0)
_FACTS = st.builds(
    StatementFacts,
    source_id=_NAMES,
    sql=st.sampled_from(["SELECT 1", "SELECT 'ü\n\\'"]),
    statement_type=_NAMES,
    mode=_NAMES,
    verdict=st.just("allow"),
    rule=st.none() | _NAMES,
    tables=st.sampled_from([(), ("t",), ("shop.orders", "größe")]),
    rows=st.none() | st.integers(0, 1000),
    truncated=st.booleans(),
)

# Requests that differ in their names, in more, or not at all; names that do not end where they seem to.
_NAMED_BY_CLIENTS = [b'"a__b"', '"größe"'.encode(), b'"a\\"b"', b'"', b'""', b"7"]
_NAMED_TO_SERVER = [b'"b"', '"ü"'.encode(), b'"\\"b"', b'"a__b"', b'""', b"7"]
_REST = [b',"arguments":{"x":"\xc3\xbc"}}', b',"arguments":{"x":2}}', b"}", b""]


def _named(names: list[bytes]) -> st.SearchStrategy[bytes]:
    return st.builds(
        lambda name, rest: b'{"name":' + name + rest, st.sampled_from(names), st.sampled_from(_REST)
    )


def a_call(session_id: str = "s-1", **changed: Any) -> Exchange:
    """Ordinary: answered by one server, and nothing else to tell."""
    exchange = settled(a_session(session_id), **changed).exchange
    exchange.hops[0].facts = None
    return exchange


@st.composite
def calls_of_clients(draw: st.DrawFn) -> Exchange:
    bodies = st.sampled_from([b'{"x":1}', b"[]", '{"ü":"ß"}'.encode(), b'{"text":"a\\nb"}'])
    exchange = a_call(
        draw(_NAMES),
        params=draw(bodies | _named(_NAMED_BY_CLIENTS)),
        reply=draw(bodies),
        rpc_id=draw(st.sampled_from([b"1", b'"one"', b"12345678901234567890"])),
        server_version=draw(st.none() | _NAMES),
    )
    exchange.arrival = msgspec.structs.replace(exchange.arrival, client=draw(_NAMES))
    exchange.session.principal = Principal(draw(_NAMES))
    exchange.tool_name, exchange.via = draw(st.none() | _NAMES), draw(st.none() | _NAMES)
    exchange.annotations = draw(st.sampled_from([None, b"", b'{"readOnlyHint":true}', b"\xff"]))
    hop = exchange.hops[0]
    hop.rpc_id, hop.server_protocol = draw(st.none() | st.integers(0, 2**40)), draw(st.none() | _NAMES)
    hop.params, hop.result = draw(bodies | _named(_NAMED_TO_SERVER)), draw(bodies)
    hop.facts = draw(st.none() | _FACTS)
    hop.started_mono, hop.ended_mono, exchange.settled_mono = (draw(_MOMENTS) for _ in range(3))
    return exchange


@given(st.lists(calls_of_clients(), min_size=1, max_size=8))
@settings(max_examples=examples(200))
def test_ordinary_calls_give_exactly_the_rows_that_each_would_have_made(exchanges: list[Exchange]) -> None:
    calls = Calls()
    assert all(map(calls.add, exchanges))
    Sequence().number_calls(calls)
    expected = [event_row(exchange) for exchange in exchanges]
    for seq, row in enumerate(expected, calls.first_seq):
        row.seq = seq
    assert calls.event_rows() == expected
    for row in expected:
        row.request_json = row.response_json = None
    columns = calls.columns()
    read = read_event_rows(columns.json(), columns.requests)
    assert msgspec.json.encode(read) == msgspec.json.encode(expected)


def test_a_request_that_was_only_given_another_name_is_journalled_once(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    call = a_call(params=b'{"name":"shop__buy","arguments":{"what":"only once"}}')
    call.hops[0].params = b'{"name":"buy","arguments":{"what":"only once"}}'
    (frame,) = journal.write(call).frames[CALLS]
    assert journal.writer.path.read_bytes().count(b"only once") == 1
    assert frame.bodies is not None
    (row,) = read_event_rows(frame.rows_json, frame.bodies.requests)
    assert (row.hops[0].same_request, row.hops[0].request_json) == (False, call.hops[0].params.decode())


def _with_error(exchange: Exchange) -> None:
    exchange.settlement = Settlement(Outcome.TOOL_ERROR, EndedBy.UPSTREAM, b"{}", error="no")


def _by_us(exchange: Exchange) -> None:
    exchange.settlement = Settlement(Outcome.ANSWERED, EndedBy.GATEWAY, b"{}")


def _not_ended(exchange: Exchange) -> None:
    exchange.settlement = None


def _two_hops(exchange: Exchange) -> None:
    exchange.hops.append(exchange.hops[0])


def _surrogate(exchange: Exchange) -> None:
    exchange.hops[0].facts = StatementFacts("demo", "SELECT '\ud800'", "SELECT", "read_only", "allow")


def _cached(exchange: Exchange) -> None:
    exchange.hops[0].cached = True


def _merged_list(exchange: Exchange) -> None:
    exchange.server_name = "aggregate"


def _of_server(exchange: Exchange) -> None:
    exchange.sender = "server"


def _traced(exchange: Exchange) -> None:
    exchange.trace = Trace("0" * 32, "0" * 16)


def _changed_arrival(**changed: Any) -> Callable[[Exchange], None]:
    def change(exchange: Exchange) -> None:
        exchange.arrival = msgspec.structs.replace(exchange.arrival, **changed)

    return change


@pytest.mark.parametrize(
    "change",
    [
        _with_error,
        _by_us,
        _not_ended,
        _two_hops,
        _surrogate,
        _cached,
        _merged_list,
        _of_server,
        _traced,
        _changed_arrival(rpc_id=None),
        _changed_arrival(params=b""),
        _changed_arrival(params=b"\xff"),
        _changed_arrival(headers={"traceparent": "00-0-0-00"}),
        _changed_arrival(method="notifications/progress"),
    ],
)
def test_whatever_has_more_to_tell_is_a_whole_row(change: Callable[[Exchange], None]) -> None:
    exchange, calls = a_call(), Calls()
    change(exchange)
    assert (calls.add(exchange), len(calls)) == (False, 0)


class Journal:
    def __init__(self, folder: Path) -> None:
        self.grouper, self.framer = Grouper(Sequence(), "writer"), Framer(ROW_REDACTOR)
        self.writer = JournalWriter(folder)
        self.grouper.group([opened(a_session())], Losses())

    def write(self, *exchanges: Exchange) -> Batch:
        """What the store gets of them."""
        begin = self.writer.path.stat().st_size
        group = self.grouper.group([settled_again(one) for one in exchanges], Losses())
        self.writer.append(self.framer.frames_of(group))
        batch = Batch()
        for frame in read_frames(self.writer.path, begin):
            batch.add(self.writer.path.name, frame, begin)
        return batch


def settled_again(exchange: Exchange) -> Any:
    event = settled(exchange.session)
    return type(event)(exchange)


def test_a_call_with_a_secret_becomes_a_whole_row_without_it(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    assert len(journal.write(a_call(), a_call()).frames[CALLS]) == 1
    batch = journal.write(a_call(), a_call(params=b'{"password":"hunter2-hunter2"}'))
    assert ([frame.count for frame in batch.frames[EVENTS]], batch.frames[CALLS]) == ([2], [])
    assert b"hunter2" not in journal.writer.path.read_bytes()


_SECRET = b"password=hunter2-hunter2"


def _secret_shape(exchange: Exchange) -> None:
    exchange.tool_name = _SECRET.decode()


def _secret_statement(exchange: Exchange) -> None:
    sql = f"SELECT '{_SECRET.decode()}'"
    exchange.hops[0].facts = StatementFacts("demo", sql, "SELECT", "read_only", "allow")


def _secret_sent(exchange: Exchange) -> None:
    exchange.hops[0].params = b'{"said":"%b"}' % _SECRET


def _secret_result(exchange: Exchange) -> None:
    exchange.hops[0].result = b'{"said":"%b"}' % _SECRET


@pytest.mark.parametrize(
    "hide",
    [
        _secret_shape,
        _secret_statement,
        _secret_sent,
        _secret_result,
        _changed_arrival(rpc_id=b'"%b"' % _SECRET),
        _changed_arrival(client=_SECRET.decode()),
    ],
)
def test_whatever_others_chose_is_searched(hide: Callable[[Exchange], None], tmp_path: Path) -> None:
    journal, exchange = Journal(tmp_path), a_call()
    hide(exchange)
    batch = journal.write(a_call(), exchange)
    assert ([frame.count for frame in batch.frames[EVENTS]], batch.frames[CALLS]) == ([2], [])
    assert b"hunter2" not in journal.writer.path.read_bytes()


def test_a_call_with_a_long_body_becomes_a_whole_row_and_is_shortened(tmp_path: Path) -> None:
    batch = Journal(tmp_path).write(a_call(reply=b'"%b"' % (b"x " * 200_000)))
    (frame,) = batch.frames[EVENTS]
    assert frame.bodies is not None
    assert b'"is_cut":true' in frame.rows_json
    assert len(frame.bodies.of_row(0)[1]) == 256 * 1024


def test_calls_and_whole_rows_of_a_group_are_numbered_in_the_order_of_their_frames(tmp_path: Path) -> None:
    whole = a_call()
    _cached(whole)
    batch = Journal(tmp_path).write(a_call(), whole, a_call())
    batch.spell_out_calls()
    rows = [msgspec.json.decode(frame.rows_json) for frame in batch.frames[EVENTS]]
    assert [len(some) for some in rows] == [1, 2]
    numbers = [row["seq"] for some in rows for row in some]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize(
    "damage",
    [
        lambda told: told.replace(b'"shapes":[', b'"shapes":['[:-2]),
        lambda told: told.replace(b'"hop_ms"', b'"shape":[7],"hop_ms"'),
        lambda told: told.replace(b'"hop_rpc_id":[', b'"hop_rpc_id":[1,'),
    ],
)
def test_calls_that_cannot_be_read_are_told_as_a_gap(
    damage: Callable[[bytes], bytes], tmp_path: Path
) -> None:
    batch = Journal(tmp_path).write(a_call())
    (frame,) = batch.frames[CALLS]
    frame.rows_json = damage(frame.rows_json)
    batch.spell_out_calls()
    assert (batch.frames[CALLS], batch.frames[EVENTS], len(batch.frames[GAPS])) == ([], [], 1)
