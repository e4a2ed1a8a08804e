"""Calls that share what they have in common are stored as if each had its whole row."""

import msgspec
from recorder.happenings import ROW_REDACTOR, a_session, settled
from stores.kinds import StoreKind

from callgate.model.exchange import Exchange
from callgate.ports.record_store import RecordStore
from callgate.recorder.flush.batch import Batch
from callgate.recorder.frame_rows import Framer
from callgate.recorder.group_rows import Grouper
from callgate.recorder.journal.frames import CALLS, EVENTS, HEAD, read_frame
from callgate.recorder.losses import Losses
from callgate.recorder.sequence import Sequence
from callgate.recorder.stores.duckdb.schema import EVENT_COLUMNS, HOP_COLUMNS

_OWN = {"id", "seq", "session_id", "event_id", "source_id"}
_EVENT = ", ".join(name for name in EVENT_COLUMNS if name not in _OWN)
_HOP = ", ".join(name for name in HOP_COLUMNS if name not in _OWN)
_TABLES = (
    f"SELECT {_EVENT} FROM rpc_events ORDER BY rpc_id",
    f"SELECT {_HOP} FROM rpc_event_upstreams ORDER BY rpc_id",
    "SELECT tool_call_count, error_count, total_tokens, last_seen_at FROM sessions",
)


def some_calls(session_id: str) -> list[Exchange]:
    session, made = a_session(session_id), list[Exchange]()
    for number in range(40):
        exchange = settled(
            session,
            at_s=1_780_000_000.0 + number,
            params=b'{"name":"t","arguments":{"n":%d,"s":"\xc3\xbc"}}' % number,
            reply=b'{"content":[{"type":"text","text":"%d"}]}' % number,
            rpc_id=b"%d" % (number + 100),
            server_version="1.2",
            tool=f"tool{number % 3}",
        ).exchange
        exchange.annotations = b'{"readOnlyHint":true}' if number % 2 else None
        hop = exchange.hops[0]
        hop.rpc_id, hop.server_protocol = number + 100, "2025-11-25"
        if number % 2:
            hop.facts = None
        if number % 4 == 0:
            hop.params = b'{"name":"native","arguments":{}}'
            hop.started_mono = 10.001
        if number % 4 == 1:
            hop.params = exchange.arrival.params.replace(b'"t"', b'"native%d"' % (number % 3))
        made.append(exchange)
    return made


def batch_of(exchanges: list[Exchange], *, spelled_out: bool) -> Batch:
    events = [type(settled(one.session))(one) for one in exchanges]
    group = Grouper(Sequence(), "writer").group(events, Losses())
    if spelled_out:
        group.spell_out_calls()
    batch = Batch()
    for made in Framer(ROW_REDACTOR).frames_of(group):
        batch.add(f"{spelled_out}-x.000000.journal", read_frame(bytes(made[HEAD.size :]), 1000))
    assert bool(batch.frames[EVENTS]) == spelled_out
    assert bool(batch.frames[CALLS]) != spelled_out
    return batch


def test_the_store_holds_the_same_rows_either_way(kind: StoreKind, store: RecordStore[Batch]) -> None:
    for spelled_out in (False, True):
        store.write(batch_of(some_calls(f"s-{spelled_out}"), spelled_out=spelled_out))
    for statement in _TABLES:
        rows = kind.ask(store, statement)
        assert len(rows) in (2, 80)
        assert rows[::2] == rows[1::2]


def test_calls_with_characters_that_the_store_does_not_keep_are_stored_too(
    kind: StoreKind, store: RecordStore[Batch]
) -> None:
    for spelled_out in (False, True):
        calls = some_calls(f"s-{spelled_out}")[:3]
        replies = [b'{"said":"\x00"}', b'{"said":"b"}', b'{"said":"c"}']
        for call, reply in zip(calls, replies, strict=True):
            assert call.settlement is not None
            call.hops[0].result = reply
            call.settlement = msgspec.structs.replace(call.settlement, reply=reply)
        store.write(batch_of(calls, spelled_out=spelled_out))
    rows = kind.ask(store, "SELECT response_json FROM rpc_events ORDER BY rpc_id")
    kept = "\ufffd" if store.traits.replaces_nul else "\x00"
    assert [row[0] for row in rows] == [f'{{"said":"{text}"}}' for text in (kept, kept, "b", "b", "c", "c")]
    assert kind.ask(store, "SELECT count(*) FROM gaps") == [(0,)]
