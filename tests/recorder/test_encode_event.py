"""Every event becomes a row; one that cannot as it is becomes a masked one."""

import pytest
from recorder.happenings import a_session, opened, settled

from callgate.model.exchange import Outcome
from callgate.recorder.encode_event import encode_event
from callgate.recorder.journal import decode_row
from callgate.recorder.redact import Redactor
from callgate.recorder.rows import EventRow, SessionRow

SECRET = "hunter2"


@pytest.mark.parametrize("place", ["tool_name", "server_name"])
def test_an_event_that_cannot_be_encoded_is_recorded_masked(place: str) -> None:
    bad = settled(
        a_session(),
        params=b'{"name":"hunter2"}',
        reply=b'["hunter2"]',
        sql=f"SELECT '{SECRET}'",
        error=f"no {SECRET}",
        outcome=Outcome.TOOL_ERROR,
    )
    setattr(bad.exchange, place, "lone \ud800 surrogate")
    encoded = encode_event(bad, Redactor())
    assert encoded is not None
    row = decode_row(encoded.payload)
    assert isinstance(row, EventRow)
    assert getattr(row, place) == "lone ? surrogate"
    assert (row.method, row.outcome, row.sql, row.error) == ("tools/call", "tool_error", "***", "***")
    assert (row.request_json, row.response_json) == ('"***"', '"***"')
    assert SECRET.encode() not in encoded.payload


def test_a_session_whose_names_cannot_be_encoded_is_recorded() -> None:
    session = a_session()
    session.workspace = "\udcff/home"
    encoded = encode_event(opened(session), Redactor())
    assert encoded is not None
    row = decode_row(encoded.payload)
    assert isinstance(row, SessionRow)
    assert row.workspace == "?/home"


def test_an_event_of_which_no_row_can_be_made_is_told_of_and_does_not_raise() -> None:
    unsettled = settled(a_session())
    unsettled.exchange.settlement = None
    assert encode_event(unsettled, Redactor()) is None
