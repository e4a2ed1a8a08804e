"""An event as a journal row, whatever it holds: one bad event costs no other, and is itself still told of."""

import logging
from dataclasses import dataclass
from typing import Any, cast

import msgspec

from callgate.model.events import Event, ExchangeSettled, SessionClosed, SessionOpened
from callgate.recorder.journal import encode_row
from callgate.recorder.redact import MaskAll, Redactor
from callgate.recorder.rows import Row, event_row, session_row

_log = logging.getLogger(__name__)

_mask_all = MaskAll()


@dataclass(frozen=True, slots=True)
class EncodedRow:
    row: Row
    payload: bytes


def encode_event(event: Event, redactor: Redactor) -> EncodedRow | None:
    """Never raises. None: not even a masked row could be made of it, which is to be counted as a gap."""
    try:
        row = _row(event, redactor)
        return EncodedRow(row, encode_row(row))
    except Exception as problem:  # noqa: BLE001 - a caller must not keep a call out of the record
        # The type only: the text of an error may quote what was to be redacted.
        _log.warning("an event is recorded with its bodies masked: %s", type(problem).__name__)
    try:
        row = _storable(_row(event, _mask_all))
        return EncodedRow(row, encode_row(row))
    except Exception:  # noqa: BLE001 - see above
        _log.exception("an event could not be recorded")
        return None


def _row(event: Event, redactor: Redactor) -> Row:
    if isinstance(event, ExchangeSettled):
        return event_row(event.exchange, redactor)
    assert isinstance(event, (SessionOpened, SessionClosed))
    return session_row(event.session)


def _storable(value: Any) -> Any:
    """Lone surrogates are the one thing a str can hold and neither journal nor store can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_storable(item) for item in cast(list[Any], value)]
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_storable(getattr(value, name)) for name in value.__struct_fields__))
    return value
