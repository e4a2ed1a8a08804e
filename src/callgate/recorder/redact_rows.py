"""Rows become JSON here, and nothing becomes JSON that was not looked through for secrets.

1. What is looked at is what would be written: the JSON of a whole group, and its bodies. Most groups hold
   nothing, and asking about each text by itself would cost more than everything else the recorder does.
2. Where something is found, every row of the group is redacted, by the rules of its server, and made JSON
   again.
3. One bad row costs no other. What cannot be redacted keeps that it happened, and nothing of what it said.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from callgate.recorder.call_rows import Calls
from callgate.recorder.redact.redact import MaskAll, Redactor
from callgate.recorder.rows import EventRow, GapRow, SessionRow

_log = logging.getLogger(__name__)

_encode = msgspec.json.Encoder().encode
_mask_all = MaskAll()
_AGGREGATE = "aggregate"  # see Exchange.server_name
# A look costs as much as copying this much; what is longer is looked at where it lies.
_JOINED_BYTES = 4096


class RowRedactor:
    """Used by one thread at a time. `of_server`: redactors of servers with rules of their own."""

    def __init__(
        self, redactor: Redactor, max_body_bytes: int, of_server: Mapping[str, Redactor] | None = None
    ) -> None:
        self.use(redactor, max_body_bytes, of_server or {})

    def use(self, redactor: Redactor, max_body_bytes: int, of_server: Mapping[str, Redactor]) -> None:
        """From now on. Another thread may be at work: each row is looked at by the old rules or the new."""
        self._of_all = Redactor.of_all([redactor, *of_server.values()]) if of_server else redactor
        self._redactor = redactor
        self._of_server = of_server
        self._max_body_bytes = max_body_bytes

    def prepare(self) -> None:
        """See Redactor.prepare."""
        self._of_all.prepare()

    def clean_json(self, rows: list[EventRow]) -> tuple[bytes, list[bytes]] | None:
        """As `events_json` where nothing has to be redacted or shortened, else None; the rows stay as they
        are. Raises what an encoder raises."""
        limit = self._max_body_bytes
        for row in rows:  # see `_may_be_long`
            if row.request_bytes + row.response_bytes > limit or len(row.hops) > 1:
                return None
        rows_json, bodies = _apart(rows)
        return (rows_json, bodies) if self._is_clean([rows_json, *bodies]) else None

    def clean_calls_json(self, calls: Calls) -> tuple[bytes, Sequence[bytes]] | None:
        """The same for ordinary calls."""
        columns = calls.columns()
        if columns.largest_bytes > self._max_body_bytes or not self._is_clean(columns.said):
            return None
        return columns.json(), columns.requests + columns.responses

    def events_json(self, rows: list[EventRow]) -> tuple[bytes, list[bytes]]:
        """Redacts and shortens the rows in place. Their JSON, and beside it the bodies: the requests of all,
        then their responses; b"" where there is none."""
        try:
            rows_json, bodies = _apart(rows)
            is_clean = self._is_clean([rows_json, *bodies])
        except Exception:  # noqa: BLE001 - one of them is not what it should be: each is looked at by itself
            is_clean, rows_json, bodies = False, b"", []
        if is_clean and not any(map(self._may_be_long, rows)):
            return rows_json, bodies
        for place, row in enumerate(rows):
            if not is_clean:
                rows[place] = self._redacted(row)
            if self._may_be_long(row):
                _cut(rows[place], self._max_body_bytes)
        return _apart(rows)

    def sessions_json(self, rows: list[SessionRow]) -> bytes:
        """The same for sessions: names are the client's own words."""
        text = self._redactor.text
        for row in rows:
            for name in ("client_name", "client_version", "client_protocol", "workspace"):
                if (said := getattr(row, name)) is not None:
                    setattr(row, name, _storable(text(said)))
        return _encode(rows)

    def gaps_json(self, rows: list[GapRow]) -> bytes:
        return _encode(rows)

    def _is_clean(self, texts: list[bytes]) -> bool:
        """Of some texts, the first of which is of all rows."""
        is_clean = self._of_all.is_clean
        if max(map(len, texts[1:]), default=0) <= _JOINED_BYTES:
            return is_clean(b"\n".join(texts))
        long = [text for text in texts[1:] if len(text) > _JOINED_BYTES]
        short = [text for text in texts[1:] if len(text) <= _JOINED_BYTES]
        return is_clean(b"\n".join([texts[0], *short])) and all(map(is_clean, long))

    def _redacted(self, row: EventRow) -> EventRow:
        """Never raises."""
        try:
            _redact(row, self._redactor_for(row.server_name))
            row.is_redacted = _is_masked(row)
        except Exception as problem:  # noqa: BLE001 - a caller must not keep a call out of the record
            # The type only: the text of an error may quote what was to be redacted.
            _log.warning("an event is recorded with its bodies masked: %s", type(problem).__name__)
            _redact(row, _mask_all)
            row.is_redacted = True
        return _storable(row)

    def _redactor_for(self, server_name: str | None) -> Redactor:
        """A merged list holds what several said, and what was refused could have been for any of them."""
        if server_name in (None, _AGGREGATE):
            return self._of_all
        return self._of_server.get(server_name or "", self._redactor)

    def _may_be_long(self, row: EventRow) -> bool:
        return row.request_bytes + row.response_bytes > self._max_body_bytes or len(row.hops) > 1


def _apart(rows: Sequence[EventRow]) -> tuple[bytes, list[bytes]]:
    """Their JSON without bodies, and the bodies. The rows keep them: listeners get them too."""
    requests = [row.request_json for row in rows]
    responses = [row.response_json for row in rows]
    for row in rows:
        row.request_json = row.response_json = None
    try:
        rows_json = _encode(rows)
    finally:
        for row, request, response in zip(rows, requests, responses, strict=True):
            row.request_json, row.response_json = request, response
    return rows_json, [body or b"" for body in requests + responses]


def _redact(row: EventRow, redactor: Redactor) -> None:
    """Everything in a row that others chose. What is missing here goes to the journal as it is."""

    def json(raw: str | None) -> str | None:
        return raw and redactor.json(raw.encode(errors="replace"))

    text = redactor.text
    row.method, row.client = text(row.method), text(row.client)
    row.rpc_id, row.annotations = json(row.rpc_id), json(row.annotations)
    row.tool_name = row.tool_name and text(row.tool_name)
    row.request_json, row.response_json = redactor.body(row.request_json), redactor.body(row.response_json)
    row.error, row.sql = row.error and text(row.error), row.sql and text(row.sql)
    row.tables = None if row.tables is None else list(map(text, row.tables))
    for told in (row, *row.hops):
        told.server_version = told.server_version and text(told.server_version)
        told.server_protocol = told.server_protocol and text(told.server_protocol)
    for hop in row.hops:
        hop.request_json, hop.response_json = json(hop.request_json), json(hop.response_json)
        hop.error = hop.error and text(hop.error)


def _cut(row: EventRow, limit: int) -> None:
    """Bodies to at most `limit` each; all hops together may have eight times that, or a merged list of a
    hundred servers would be a hundred times as long as what the client got."""
    for body in ("request_json", "response_json"):
        raw: bytes | None = getattr(row, body)
        if raw is not None and len(raw) > limit and len(text := raw.decode()) > limit:
            setattr(row, body, text[:limit].encode())
            row.is_cut = True
    left = 8 * limit
    for hop in row.hops:
        for body in ("request_json", "response_json"):
            text = getattr(hop, body)
            if text is None:
                continue
            if len(text) > min(left, limit):
                setattr(hop, body, text[: min(left, limit)])
                row.is_cut = True
            left = max(0, left - len(text))


def _is_masked(row: EventRow) -> bool:
    bodies = (row.request_json, row.response_json)
    texts = (row.error, row.sql, row.tool_name, row.client)
    return any(body is not None and b"***" in body for body in bodies) or any(
        text is not None and "***" in text for text in texts
    )


def _storable(value: Any) -> Any:
    """Lone surrogates are the one thing a str can hold and neither journal nor store can."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_storable(item) for item in cast(list[Any], value)]
    if isinstance(value, msgspec.Struct):
        return type(value)(*(_storable(getattr(value, name)) for name in value.__struct_fields__))
    return value
