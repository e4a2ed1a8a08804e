"""What comes in from an upstream, as dialogues; the numbers are the rules of `wire.connection.connection`."""

import json

import pytest
from wire.dialogue import EXITED, Dialogue

from callgate.model.error_codes import (
    UPSTREAM_TOO_LARGE,
)
from callgate.wire.connection.connection import ConnectionState
from callgate.wire.connection.events import (
    Answered,
    AskedBack,
    Ended,
    Garbage,
    Late,
    Notified,
    Orphan,
    Progressed,
    Send,
)
from callgate.wire.framing.lines import MAX_FRAME_BYTES


def test_rule_2_progress_extends_the_timer_and_carries_the_clients_own_token() -> None:
    dialogue = Dialogue()
    token = '"caf\\u00e9"'
    params = b'{"name":"x", "arguments":{"n":1.50}, "_meta":{"a": 1,"progressToken":%b}}' % token.encode()
    sent = dialogue.connection.ask("tools/call", params, None, 30.0, dialogue.now)
    assert isinstance(sent, Send)
    outgoing = b'{"name":"x","arguments":{"n":1.50},"_meta":{"a":1,"progressToken":%d}}' % sent.rpc_id
    assert json.loads(sent.frame)["params"] == json.loads(outgoing)
    assert b'{"n":1.50}' in sent.frame
    dialogue.now += 25.0
    said = {"progressToken": sent.rpc_id, "progress": 1, "message": "half"}
    progressed = dialogue.hear({"method": "notifications/progress", "params": said})
    assert isinstance(progressed, Progressed)
    assert progressed.pending.rpc_id == sent.rpc_id
    assert json.loads(progressed.params) == said | {"progressToken": "café"}
    assert token.encode() in progressed.params
    assert dialogue.tick(29.9) == []
    assert len(dialogue.tick(0.1)) == 1


def test_rule_2_progress_without_end_ends_after_the_total_all_the_same() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask({"_meta": {"progressToken": 1}}, timeout_s=30.0)
    begun = dialogue.now
    ends: list[Ended | Send] = []
    while not ends and dialogue.now - begun < 1000.0:
        ends = dialogue.tick(10.0)
        dialogue.hear({"method": "notifications/progress", "params": {"progressToken": rpc_id}})
    assert dialogue.now - begun == 300.0
    [ended] = ends
    assert isinstance(ended, Ended)
    assert ended.error.message == "tools/call reported progress, but no result in 300 s"


@pytest.mark.parametrize(
    "spelling", [b'{"_meta":{"progress\\u0054oken":7}}', b'{"\\u005fmeta":{"progressToken":7}}']
)
def test_a_token_of_the_clients_choice_never_reaches_the_upstream_however_it_is_spelt(
    spelling: bytes,
) -> None:
    sent = Dialogue().connection.ask("tools/call", spelling, None, None, 1000.0)
    assert isinstance(sent, Send)
    assert json.loads(sent.frame)["params"] == {"_meta": {"progressToken": sent.rpc_id}}


@pytest.mark.parametrize(
    "params",
    [
        b'{"arguments":{"progressToken":7}}',
        b'{"_meta":{"progressToken":null}}',
        b'{"_meta":3,"x":"\\u00e9" }',
    ],
)
def test_params_without_a_token_pass_byte_for_byte(params: bytes) -> None:
    sent = Dialogue().connection.ask("tools/call", params, None, None, 1000.0)
    assert isinstance(sent, Send)
    assert sent.frame.endswith(b'"params":' + params + b"}")


def test_progress_for_a_request_that_wanted_none_or_for_nothing_is_an_orphan() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    for token in (rpc_id, 99, "x", None, {"a": 1}):
        params = {"progressToken": token}
        event = dialogue.hear({"method": "notifications/progress", "params": params})
        assert event == Orphan(json.dumps(token).encode(), json.dumps(params).encode()), token
    assert dialogue.hear({"method": "notifications/progress"}) == Orphan(b"", b"")
    assert dialogue.connection.next_deadline() == dialogue.now + 30.0


def test_rule_6_a_late_reply_is_told_as_late_until_the_tombstone_expires() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask(timeout_s=30.0)
    dialogue.tick(30.0)
    dialogue.now += 2.5
    assert dialogue.reply(rpc_id) == Late(rpc_id, "tools/call", 2.5)
    dialogue.now += 30.0 + 10.0 + 30.0 + 5.0
    assert dialogue.reply(rpc_id) == Orphan(b"%d" % rpc_id)


def test_rule_6_a_second_reply_and_a_reply_to_nothing_are_orphans() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    assert isinstance(dialogue.reply(rpc_id), Answered)
    for stranger in (rpc_id, 99, -1, 0, "abc", "", "²"):
        event = dialogue.hear(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % json.dumps(stranger).encode())
        assert isinstance(event, Orphan), stranger
    long = b"9" * 1000
    assert dialogue.hear(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % long) == Orphan(long)
    enormous = b"9" * 5000  # Python refuses to read it as a number
    assert isinstance(dialogue.hear(b'{"jsonrpc":"2.0","id":%b,"result":{}}' % enormous), Garbage)


def test_rule_6_progress_after_the_end_is_late_too() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask({"_meta": {"progressToken": 1}})
    dialogue.connection.cancel(rpc_id, "gone", dialogue.now)
    event = dialogue.hear({"method": "notifications/progress", "params": {"progressToken": rpc_id}})
    assert event == Late(rpc_id, "tools/call", 0.0, b'{"progressToken": %d}' % rpc_id)


def test_an_id_that_comes_back_as_a_string_is_still_ours() -> None:
    dialogue = Dialogue()
    assert isinstance(dialogue.reply(str(dialogue.ask())), Answered)


def test_rule_7_a_reply_from_before_a_reconnect_is_never_delivered() -> None:
    dialogue = Dialogue()
    old = dialogue.ask()
    assert dialogue.connection.epoch == 1
    dialogue.connection.lost(EXITED, dialogue.now)
    dialogue.connection.retrying()
    dialogue.shake_hands()
    assert dialogue.connection.epoch == 2
    new = dialogue.ask()
    assert isinstance(dialogue.reply(old), Late)
    assert isinstance(dialogue.reply(new), Answered)


def test_rule_7_a_handshake_that_another_one_overtook_is_not_delivered_and_still_ends() -> None:
    dialogue = Dialogue(ready=False)
    dialogue.connection.opened()
    probe = dialogue.connection.ask_handshake("server/discover", b"{}", None, dialogue.now)
    hello = dialogue.connection.ask_handshake("initialize", b"{}", None, dialogue.now)
    assert isinstance(dialogue.reply(hello.rpc_id), Answered)
    assert dialogue.connection.ready(dialogue.now) == []
    assert dialogue.reply(probe.rpc_id) == Late(probe.rpc_id, "server/discover", 0.0)
    assert len(dialogue.tick(120.0)) == 1


@pytest.mark.parametrize(
    "frame", [b"oops", b"\xff", b"{}", b'{"jsonrpc":"2.0","id":null,"result":1}', b"[", b"[]", b"[[]]"]
)
def test_rule_9_what_cannot_be_read_is_dropped_and_the_conversation_goes_on(frame: bytes) -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    assert isinstance(dialogue.hear(frame), Garbage)
    assert isinstance(dialogue.reply(rpc_id), Answered)


def test_rule_9_a_frame_over_the_limit_is_the_end_of_the_connection() -> None:
    dialogue = Dialogue()
    dialogue.ask()
    event = dialogue.hear(b" " * (MAX_FRAME_BYTES + 1))
    assert isinstance(event, Ended)
    assert event.error.code is UPSTREAM_TOO_LARGE
    assert dialogue.connection.state is ConnectionState.BACKOFF


def test_a_batch_is_read_message_by_message() -> None:
    dialogue = Dialogue()
    first, second = dialogue.ask(), dialogue.ask()
    batch = [{"jsonrpc": "2.0", "id": i, "result": {}} for i in (second, first, 77)]
    events = dialogue.connection.receive(json.dumps(batch).encode(), None, dialogue.now)
    assert [type(event) for event in events] == [Answered, Answered, Orphan]


def test_a_notification_and_a_request_of_the_server_name_the_open_request_on_whose_stream_they_came() -> None:
    dialogue = Dialogue()
    rpc_id = dialogue.ask()
    notified = dialogue.hear({"method": "notifications/message", "params": {"level": "info"}}, about=rpc_id)
    assert isinstance(notified, Notified)
    assert (notified.method, json.loads(notified.params)) == ("notifications/message", {"level": "info"})
    assert notified.pending is not None
    assert notified.pending.rpc_id == rpc_id
    asked = dialogue.hear({"id": "their-1", "method": "roots/list"}, about=rpc_id)
    assert isinstance(asked, AskedBack)
    assert (asked.rpc_id, asked.method, asked.epoch) == (b'"their-1"', "roots/list", 1)
    assert asked.pending is notified.pending
    dialogue.reply(rpc_id)
    assert dialogue.hear({"method": "notifications/message"}, about=rpc_id).pending is None
    assert dialogue.hear({"id": rpc_id, "method": "ping"}).pending is None
