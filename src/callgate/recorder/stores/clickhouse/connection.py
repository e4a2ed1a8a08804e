"""One HTTP connection to the record's ClickHouse, and what is wrong with it in words for the operator.

The only place that sees the address. No sentence made here holds more of it than host, port and database.
Values go into a statement as literals (`literals`): a URL has no room for them.
"""

import http.client
import math
import re
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import IO, Any
from urllib.parse import urlencode

import msgspec

from callgate.model.error_codes import SETUP_STORE_SCHEMA, SETUP_STORE_UNREACHABLE, ErrorCode
from callgate.model.errors import SetupError
from callgate.ports.record_reader import Row
from callgate.recorder.stores.clickhouse.literals import spelled
from callgate.recorder.trouble import TRIES_AGAIN

_CHUNK_BYTES = 256 * 1024
# Of an answer that is not written into a file: a page of calls with their bodies has less.
_MOST_ANSWER_BYTES = 512 * 1024 * 1024
_MOST_TOLD = 300
# Exceptions of ClickHouse by their numbers.
_UNKNOWN_TABLE, _UNKNOWN_DATABASE, _UNKNOWN_COLUMN = 60, 81, 16
_TIMEOUT, _TOO_SLOW, _MEMORY, _READONLY, _DENIED, _WRONG_PASSWORD = 159, 160, 241, 164, 497, 516
_IS_MOMENT = re.compile(r"(Nullable\()?DateTime64\(.*")


@dataclass(frozen=True, slots=True)
class StoreUser:
    user: str
    password: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ClickhouseAddress:
    host: str
    port: int
    database: str
    login: StoreUser
    reader: StoreUser | None = None  # whom users' SQL runs as; None: the same user
    is_secure: bool = False
    ca_file: str | None = None

    @property
    def shown(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}/{self.database}"


class ClickhouseError(Exception):
    """The server's answer: it did not do what it was asked for, or says so."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code

    @property
    def is_out_of_time(self) -> bool:
        return self.code in (_TIMEOUT, _TOO_SLOW)

    @property
    def is_of_the_way(self) -> bool:
        """Not of the statement: of who asks, or of something between here and the server."""
        return self.code in (0, _WRONG_PASSWORD)

    @property
    def is_out_of_memory(self) -> bool:
        return self.code == _MEMORY


# OSError with TimeoutError and ssl.SSLError.
FAILURES: tuple[type[Exception], ...] = (ClickhouseError, http.client.HTTPException, OSError)


class ClickhouseConnection:
    """Used from one thread at a time. Every statement stands for itself: there is no session, so any way of
    sharing connections between here and the server will do."""

    def __init__(self, address: ClickhouseAddress, limit_s: float, login: StoreUser | None = None) -> None:
        """`limit_s`: of one statement."""
        login = login or address.login
        self.limit_s = limit_s
        self._address = address
        key = b64encode(f"{login.user}:{login.password}".encode()).decode()
        self._headers = {"Authorization": f"Basic {key}"}
        self._http: http.client.HTTPConnection | None = None
        self._used_mono = 0.0

    def run(self, sql: str, *, body: bytes | None = None, **settings: object) -> bytes:
        """`body`: the rows of an INSERT. Raises FAILURES."""
        return self._whole(self._asked(sql, body, settings))

    def fetch(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        """Rows by their columns' names; moments as datetimes, ids as texts."""
        names, rows = self.table(spelled(sql, params))
        return [dict(zip(names, row, strict=True)) for row in rows]

    def table(self, sql: str) -> tuple[list[str], list[list[Any]]]:
        """Names of the columns, and rows."""
        names, kinds, rows = self._lines(sql, {})
        moments = [place for place, kind in enumerate(kinds) if _IS_MOMENT.fullmatch(kind)]
        for row in rows:
            for place in moments:
                row[place] = _moment(row[place])
        return names, rows

    def plain_table(self, sql: str, **settings: object) -> tuple[list[str], list[list[Any]]]:
        """As the server spells the values."""
        names, _, rows = self._lines(sql, settings)
        return names, rows

    def _lines(
        self, sql: str, settings: Mapping[str, object]
    ) -> tuple[list[str], list[str], list[list[Any]]]:
        form = {"default_format": "JSONCompactEachRowWithNamesAndTypes"}
        told = self._whole(self._asked(sql, None, {**_READS, **form, **settings}))
        try:
            lines = _decode_lines(told)
        except msgspec.MsgspecError:
            raise ClickhouseError(0, "it answers with something else than rows") from None
        if not lines:  # a statement that is no query has no columns
            return [], [], []
        names, *rows = lines
        kinds = rows.pop(0) if rows else []
        if any(len(row) != len(names) for row in (kinds, *rows)):
            raise ClickhouseError(0, "it answers with rows of another form")
        return names, kinds, rows

    def _whole(self, answer: http.client.HTTPResponse) -> bytes:
        try:
            return _read_whole(answer, self.limit_s + _GRACE_S)
        except BaseException:
            self.close()
            raise

    def dump(self, sql: str, params: Sequence[Any], file: IO[bytes]) -> None:
        """Rows as lines of JSON."""
        answer = self._asked(spelled(sql, params), None, {**_READS, "default_format": "JSONEachRow"})
        while chunk := answer.read(_CHUNK_BYTES):
            file.write(chunk)

    def close(self) -> None:
        """From any thread: whoever waits for an answer gets none."""
        connection, self._http = self._http, None
        if connection is not None:
            if connection.sock is not None:
                _shut(connection.sock)
            connection.close()

    def _asked(
        self, sql: str, body: bytes | None, settings: Mapping[str, object]
    ) -> http.client.HTTPResponse:
        params: dict[str, object] = {
            "database": self._address.database,
            # The answer comes when all is done: an error in the middle of rows could not be told from rows.
            "wait_end_of_query": 1,
            "max_execution_time": max(1, math.ceil(self.limit_s)),
            **settings,
        }
        if body is not None:
            params["query"] = sql
        connection = self._connected()
        try:
            content = sql.encode("utf-8", "replace") if body is None else body
            connection.request("POST", f"/?{urlencode(params)}", content, self._headers)
            answer = connection.getresponse()
            if answer.status == http.client.OK and answer.getheader("X-ClickHouse-Exception-Code") is None:
                return answer
            told = answer.read(64 * 1024).decode(errors="replace")
        except BaseException:
            self.close()
            raise
        raise _error_of(answer, told)

    def _connected(self) -> http.client.HTTPConnection:
        # The server's limit comes first; ours is for a server that says nothing any more.
        timeout_s = self.limit_s + _GRACE_S
        connection = self._http
        is_fresh = time.monotonic() - self._used_mono < _REUSED_S
        self._used_mono = time.monotonic()
        if connection is not None and connection.sock is not None and is_fresh:
            connection.sock.settimeout(timeout_s)
            return connection
        self.close()
        address = self._address
        if address.is_secure:
            context = ssl.create_default_context(cafile=address.ca_file)
            made = http.client.HTTPSConnection(address.host, address.port, timeout=_GRACE_S, context=context)
        else:
            made = http.client.HTTPConnection(address.host, address.port, timeout=_GRACE_S)
        made.connect()
        made.sock.settimeout(timeout_s)
        self._http = made
        return made


_GRACE_S = 5.0
# A server ends a connection that says nothing for three seconds, ours perhaps just when we speak again.
_REUSED_S = 1.0
# Reads change nothing, whatever they say, and end with whoever asked. 2: settings may come with them.
_READS: dict[str, object] = {
    "readonly": 2,
    "cancel_http_readonly_queries_on_client_close": 1,
    "output_format_json_quote_64bit_integers": 0,
    "output_format_json_validate_utf8": 1,
    "output_format_json_named_tuples_as_objects": 1,
    "select_sequential_consistency": 1,
    # A column that is shown in another form is compared as it is.
    "prefer_column_name_to_alias": 1,
}
_decode_lines = msgspec.json.Decoder(list[Any]).decode_lines


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        sock.shutdown(socket.SHUT_RDWR)


def _read_whole(answer: http.client.HTTPResponse, limit_s: float) -> bytes:
    """Within its time, and as much as anybody here asks for. What there is: a server that says a byte now and
    then is not waited for."""
    until = time.monotonic() + limit_s
    pieces: list[bytes] = []
    size, announced = 0, answer.length  # None: it says when it ends
    while size != announced:
        most = _CHUNK_BYTES if announced is None else min(_CHUNK_BYTES, announced - size)
        if not (piece := answer.read1(most)):
            break
        pieces.append(piece)
        size += len(piece)
        if size > _MOST_ANSWER_BYTES:
            raise ClickhouseError(0, f"its answer has more than {_MOST_ANSWER_BYTES >> 20} MiB")
        if time.monotonic() > until:
            raise TimeoutError
    if announced is not None and size < announced:
        raise http.client.IncompleteRead(b"", announced - size)
    answer.close()
    return b"".join(pieces)


def _error_of(answer: http.client.HTTPResponse, told: str) -> ClickhouseError:
    text = re.sub(r"^(Code: \d+\. DB::Exception: )+", "", told.strip()).partition("\n")[0]
    code = answer.getheader("X-ClickHouse-Exception-Code") or ""
    if not code.isdigit():  # of a proxy, or of something that is no ClickHouse
        return ClickhouseError(0, f"HTTP {answer.status} {answer.reason}")
    return ClickhouseError(int(code), re.sub(r"\s*\(version [^)]*\)", "", text)[:_MOST_TOLD])


def _moment(told: str | None) -> datetime | None:
    return None if told is None else datetime.fromisoformat(told)


_HINTS: Mapping[int, tuple[ErrorCode, str]] = {
    _WRONG_PASSWORD: (SETUP_STORE_UNREACHABLE, "Check user and password in [record] store"),
    _UNKNOWN_DATABASE: (
        SETUP_STORE_UNREACHABLE,
        "Create the database that [record] store names",
    ),
    _DENIED: (SETUP_STORE_SCHEMA, "Grant the user of [record] store all rights on this database"),
    _READONLY: (SETUP_STORE_SCHEMA, "The user of [record] store must not be confined by readonly"),
    _UNKNOWN_TABLE: (SETUP_STORE_SCHEMA, "The record's tables were changed. Put them back"),
    _UNKNOWN_COLUMN: (SETUP_STORE_SCHEMA, "The record's tables were changed. Put them back"),
    0: (SETUP_STORE_UNREACHABLE, "Check that ClickHouse's HTTP interface is what answers there"),
}


def trouble_of(address: ClickhouseAddress, problem: Exception) -> SetupError:
    """`problem`: one of FAILURES."""
    if isinstance(problem, ClickhouseError):
        code, hint = _HINTS.get(problem.code, (SETUP_STORE_UNREACHABLE, ""))
        said = str(problem)
    else:
        code, hint = SETUP_STORE_UNREACHABLE, "Check that ClickHouse runs and can be reached from here"
        if isinstance(problem, TimeoutError):
            said = "it does not answer in time"
        elif isinstance(problem, OSError):
            said = problem.strerror or type(problem).__name__
        else:
            said = f"the connection was lost ({type(problem).__name__})"
    return SetupError(
        code,
        f"The record's store at {address.shown} cannot be used: {said}",
        hint=f"{hint}. {TRIES_AGAIN}" if hint else TRIES_AGAIN,
    )
