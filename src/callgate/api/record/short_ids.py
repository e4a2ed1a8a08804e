"""Sessions and exchanges by a piece of their id: the page shows its end, a person may copy its beginning.

A whole id is looked up as it is. A piece has to lead to exactly one row; where it leads to several, the error
names some of them.
"""

import re
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from callgate.api.record.queries import FilterQuery, filter_of
from callgate.api.record.required_record import required
from callgate.model.error_codes import (
    CALLER_AMBIGUOUS_ID,
    CALLER_NOT_FOUND,
    CALLER_UNKNOWN_SESSION,
)
from callgate.model.errors import CallerError
from callgate.ports.record_reader import TOOL_CALL, Chosen, EventFilter, RecordReader, Row

# Shorter ones say next to nothing: ids begin with the time. A whole one has 36 characters.
_MIN_PIECE_CHARS = 4
_PIECE = re.compile(rf"[0-9a-f-]{{{_MIN_PIECE_CHARS},35}}")
_NAMED = 3  # of several

_Look = Callable[[str, int], Awaitable[Sequence[str]]]


async def find_session(record: RecordReader | None, asked_id: str) -> Row:
    """Raises CallerError."""
    record = required(record)
    row = await record.session(asked_id)
    if row is None and (whole := await _whole_id(record.session_ids, asked_id, "session")) is not None:
        row = await record.session(whole)
    if row is None:
        text = "The record has no session with that id"
        raise CallerError(CALLER_UNKNOWN_SESSION, text, hint=_too_short(asked_id))
    return row


async def find_call(record: RecordReader | None, asked_id: str) -> Row:
    """Raises CallerError."""
    row = await _find_event(record, asked_id, TOOL_CALL, "tool call")
    if row is None or row["method"] != TOOL_CALL:
        text = "The record has no tool call with that id"
        raise CallerError(CALLER_NOT_FOUND, text, hint=_too_short(asked_id))
    return row


async def find_exchange(record: RecordReader | None, asked_id: str) -> Row:
    """Raises CallerError."""
    row = await _find_event(record, asked_id, None, "exchange")
    if row is None:
        text = "The record has no exchange with that id"
        raise CallerError(CALLER_NOT_FOUND, text, hint=_too_short(asked_id))
    return row


async def find_filter(record: RecordReader | None, query: FilterQuery) -> EventFilter:
    """As it was asked, with whole ids of sessions. Raises CallerError."""
    which = filter_of(query)
    if "session_id" not in which.only and "session_id" not in which.without:
        return which
    record = required(record)
    return replace(
        which,
        only=await _with_whole_sessions(record, which.only),
        without=await _with_whole_sessions(record, which.without),
    )


async def _with_whole_sessions(record: RecordReader, chosen: Chosen) -> Chosen:
    pieces = chosen.get("session_id")
    if not pieces:
        return chosen
    whole = [await _whole_id(record.session_ids, piece, "session") or piece for piece in pieces]
    return {**chosen, "session_id": whole}


async def _find_event(
    record: RecordReader | None, asked_id: str, method: str | None, kind: str
) -> Row | None:
    record = required(record)
    row = await record.event(asked_id)
    if row is not None:
        return row

    def look(piece: str, limit: int) -> Awaitable[Sequence[str]]:
        return record.event_ids(piece, limit, method)

    whole = await _whole_id(look, asked_id, kind)
    return await record.event(whole) if whole is not None else None


async def _whole_id(look: _Look, asked_id: str, kind: str) -> str | None:
    """None: it is no piece of an id, or of none that there is. Raises CallerError when there are several."""
    piece = asked_id.lower()
    if _PIECE.fullmatch(piece) is None:
        return None
    found = await look(piece, _NAMED + 1)
    if len(found) > 1:
        more = ", …" if len(found) > _NAMED else ""
        raise CallerError(
            CALLER_AMBIGUOUS_ID,
            f"More than one {kind} has an id that begins or ends with {piece}",
            hint=f"Write more of it. The newest: {', '.join(found[:_NAMED])}{more}",
        )
    return found[0] if found else None


def _too_short(asked_id: str) -> str:
    if len(asked_id) >= _MIN_PIECE_CHARS:
        return ""
    return f"The first or last {_MIN_PIECE_CHARS} characters of an id, or more, are enough"
