"""A client's side of one stream, as dialogues: bytes in, events out."""

import json
from typing import Any

import pytest

from callgate.model.envelope import Era
from callgate.model.errors import CallerError
from callgate.wire.connection.conversation import Cancel, Conversation, IncomingRequest, Refuse, Told
from callgate.wire.json_rpc import Request

MODERN_META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "probe", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {"roots": {}},
    "clientInfo": {"name": "old", "version": "9"},
}


class Dialogue:
    """Says lines to a conversation and reads what it makes of them."""

    def __init__(self) -> None:
        self.conversation = Conversation()

    def say(self, method: str, params: dict[str, Any] | None = None, rpc_id: int | str | None = None) -> Any:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if rpc_id is not None:
            message["id"] = rpc_id
        if params is not None:
            message["params"] = params
        events = self.conversation.receive(json.dumps(message).encode() + b"\n")
        return events[0] if events else None

    def shake_hands(self) -> None:
        asked = self.say("initialize", INITIALIZE, rpc_id="hello")
        assert isinstance(asked, IncomingRequest)
        self.conversation.handshake_done(asked.envelope)
        self.conversation.closed(b'"hello"')

    def refusal(self, event: Any) -> dict[str, Any]:
        assert isinstance(event, Refuse), event
        assert event.frame is not None
        return json.loads(event.frame)["error"]


def test_a_modern_request_needs_no_handshake_and_carries_its_own_envelope() -> None:
    asked = Dialogue().say("tools/list", {"_meta": MODERN_META | {"progressToken": 5}}, rpc_id=1)
    assert isinstance(asked, IncomingRequest)
    assert (asked.envelope.era, asked.envelope.revision) == (Era.MODERN, "2026-07-28")
    assert (asked.envelope.client_name, asked.envelope.progress_token) == ("probe", b"5")


def test_a_legacy_request_before_the_handshake_is_refused_with_advice() -> None:
    dialogue = Dialogue()
    error = dialogue.refusal(dialogue.say("tools/list", {}, rpc_id=1))
    assert error["data"]["code"] == "caller.not_initialized"
    assert "initialize" in error["data"]["hint"]


def test_a_ping_may_come_before_the_handshake() -> None:
    assert isinstance(Dialogue().say("ping", rpc_id=1), IncomingRequest)


def test_after_the_handshake_requests_are_read_in_its_envelope() -> None:
    dialogue = Dialogue()
    dialogue.shake_hands()
    asked = dialogue.say("tools/list", {"_meta": {"progressToken": "t"}}, rpc_id=2)
    assert isinstance(asked, IncomingRequest)
    assert (asked.envelope.era, asked.envelope.revision) == (Era.LEGACY, "2025-06-18")
    assert asked.envelope.capabilities == b'{"roots": {}}'
    assert asked.envelope.progress_token == b'"t"'


def test_an_unknown_revision_is_answered_with_the_newest_legacy_one() -> None:
    asked = Dialogue().say("initialize", INITIALIZE | {"protocolVersion": "2031-01-01"}, rpc_id=1)
    assert isinstance(asked, IncomingRequest)
    assert asked.envelope.revision == "2025-11-25"


def test_a_second_initialize_is_refused_and_a_failed_one_may_be_repeated() -> None:
    dialogue = Dialogue()
    dialogue.say("initialize", INITIALIZE, rpc_id=1)
    assert dialogue.refusal(dialogue.say("initialize", INITIALIZE, rpc_id=2))["code"] == -32600
    dialogue.conversation.handshake_done(None)
    assert isinstance(dialogue.say("initialize", INITIALIZE, rpc_id=3), IncomingRequest)


def test_what_comes_while_hands_are_shaken_waits_for_the_end_of_it() -> None:
    dialogue = Dialogue()
    asked = dialogue.say("initialize", INITIALIZE, rpc_id=1)
    assert dialogue.say("notifications/initialized") is None
    assert dialogue.say("tools/list", {}, rpc_id=2) is None
    assert isinstance(dialogue.say("tools/list", {"_meta": MODERN_META}, rpc_id=3), IncomingRequest), (
        "modern needs no handshake"
    )
    told, listed = dialogue.conversation.handshake_done(asked.envelope)
    assert isinstance(told, Told)
    assert isinstance(listed, IncomingRequest)
    assert listed.request.rpc_id == b"2"


def test_what_waited_for_a_failed_handshake_is_refused() -> None:
    dialogue = Dialogue()
    dialogue.say("initialize", INITIALIZE, rpc_id=1)
    dialogue.say("tools/list", {}, rpc_id=2)
    (refused,) = dialogue.conversation.handshake_done(None)
    assert dialogue.refusal(refused)["data"]["code"] == "caller.not_initialized"


def test_both_eras_may_speak_on_one_stream() -> None:
    dialogue = Dialogue()
    dialogue.shake_hands()
    modern = dialogue.say("tools/list", {"_meta": MODERN_META}, rpc_id=1)
    legacy = dialogue.say("tools/list", {}, rpc_id=2)
    assert [modern.envelope.era, legacy.envelope.era] == [Era.MODERN, Era.LEGACY]


@pytest.mark.parametrize("missing", ["protocolVersion", "clientCapabilities"])
def test_a_modern_probe_without_its_envelope_is_told_what_is_missing(missing: str) -> None:
    meta = {key: value for key, value in MODERN_META.items() if not key.endswith(missing)}
    dialogue = Dialogue()
    error = dialogue.refusal(dialogue.say("server/discover", {"_meta": meta}, rpc_id=1))
    assert error["code"] == -32602
    assert missing in error["message"]


def test_an_unsupported_modern_version_is_told_which_are() -> None:
    dialogue = Dialogue()
    meta = MODERN_META | {"io.modelcontextprotocol/protocolVersion": "1900-01-01"}
    error = dialogue.refusal(dialogue.say("tools/list", {"_meta": meta}, rpc_id=1))
    assert error["code"] == -32022
    assert error["data"]["requested"] == "1900-01-01"
    assert error["data"]["supported"][0] == "2026-07-28"


def test_an_open_id_cannot_be_used_again_until_it_is_closed() -> None:
    dialogue = Dialogue()
    dialogue.shake_hands()
    assert isinstance(dialogue.say("a", rpc_id=1), IncomingRequest)
    assert isinstance(dialogue.say("a", rpc_id="1"), IncomingRequest), "1 and the string are different ids"
    assert "still open" in dialogue.refusal(dialogue.say("b", rpc_id=1))["message"]
    dialogue.conversation.closed(b"1")
    assert isinstance(dialogue.say("b", rpc_id=1), IncomingRequest)


def test_a_cancellation_reaches_an_open_request_only() -> None:
    dialogue = Dialogue()
    dialogue.shake_hands()
    dialogue.say("a", rpc_id=7)
    cancelled = dialogue.say("notifications/cancelled", {"requestId": 7})
    assert isinstance(cancelled, Cancel)
    assert (cancelled.rpc_id, cancelled.told.notification.method) == (b"7", "notifications/cancelled")
    assert isinstance(dialogue.say("notifications/cancelled", {"requestId": "7"}), Told)
    assert isinstance(dialogue.say("notifications/cancelled", {}), Told)


def test_notifications_are_told_after_the_handshake_and_refused_without_a_word_before() -> None:
    dialogue = Dialogue()
    early = dialogue.say("notifications/initialized")
    assert isinstance(early, Refuse)
    assert early.frame is None
    dialogue.shake_hands()
    assert isinstance(dialogue.say("notifications/initialized"), Told)


def test_garbage_is_answered_and_the_conversation_goes_on() -> None:
    dialogue = Dialogue()
    events = dialogue.conversation.receive(b'nonsense\n{"jsonrpc":"2.0","id":1,"method":"ping"}\n')
    assert dialogue.refusal(events[0])["code"] == -32700
    assert isinstance(events[1], IncomingRequest)
    assert events[1].request == Request(b"1", "ping", b"")


def test_a_frame_past_the_limit_ends_it() -> None:
    with pytest.raises(CallerError):
        Conversation(max_frame_bytes=64).receive(b"x" * 65)
