"""ClickHouse's engine (`chdb`) behind the part of its HTTP interface that Callgate uses. A program by itself.

    python clickhouse_engine.py FOLDER PORT PASSWORD_FILE

It takes `query`, settings as parameters and a body, authenticates its users, and has the engine enforce
`readonly`. `reader` is a second user, whose every statement is read-only. Unlike a server it has no grants.
Tests tell it to fail: `POST /faults?plan=before,after` is for the next inserts, one each (see `_Fault`), in
place of what was planned before; the answer is how many there were so far.
"""

import hmac
import os
import re
import signal
import sys
import threading
from base64 import b64decode
from collections import deque
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Literal
from urllib.parse import parse_qsl, urlsplit

import chdb  # pyright: ignore[reportMissingImports]

_engine: Any = chdb
# before: nothing is done. during: the engine gets half of the bytes. half: the engine stores half of the
# rows, as a server that parts an insert may. after: all is stored. In each of them the connection ends
# without an answer. told: all is stored, and the answer is an error. refused: nothing is stored, and the
# answer is an error. dies: all is stored, and the server is killed.
_Fault = Literal["before", "during", "half", "after", "told", "refused", "dies"]
_faults: deque[str] = deque()
_made = {"faults": 0}
_NOT_SETTINGS = frozenset(("query", "database", "default_format", "wait_end_of_query", "query_id"))
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_STATUS = {159: 408, 516: 403, 497: 403, 60: 404, 81: 404}


class RefusedError(Exception):
    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # head and body are two writes: the second would wait 40 ms
    folder = ""
    passwords: dict[str, str] = {}  # noqa: RUF012 - set once, before it serves

    def do_GET(self) -> None:
        self._answer(200, b"Ok.\n")

    def do_POST(self) -> None:
        url = urlsplit(self.path)
        params = dict(parse_qsl(url.query, keep_blank_values=True))
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            user = self._authenticated()
            if url.path == "/faults":
                _faults.clear()
                _faults.extend(filter(None, params["plan"].split(",")))
                self._answer(200, str(_made["faults"]).encode())
                return
            query = params.pop("query", "")
            if query.startswith("INSERT INTO"):
                fault = _faults.popleft() if _faults else None
                _made["faults"] += fault is not None
                self._insert(fault, user, params, query, body)
                return
            self._answer(200, self._run(user, params, query or body.decode()))
        except RefusedError as problem:
            self._refuse(problem)

    def _authenticated(self) -> str:
        told = b64decode(self.headers.get("Authorization", "").removeprefix("Basic ")).decode()
        user, _, key = told.partition(":")
        wanted = self.passwords.get(user)
        if wanted is None or not hmac.compare_digest(wanted.encode(), key.encode()):
            text = f"{user}: Authentication failed: password is incorrect, or there is no user with such name"
            raise RefusedError(516, f"Code: 516. DB::Exception: {text}. (AUTHENTICATION_FAILED)")
        return user

    def _insert(self, fault: str | None, user: str, params: dict[str, str], query: str, body: bytes) -> None:
        rows = body.decode()
        if fault == "before":
            self._hang_up()
            return
        if fault == "refused":
            raise RefusedError(
                241, "Code: 241. DB::Exception: Memory limit exceeded. (MEMORY_LIMIT_EXCEEDED)"
            )
        if fault == "during":
            rows = rows[: len(rows) // 2]
        if fault == "half":
            lines = rows.splitlines(keepends=True)
            rows = "".join(lines[: len(lines) // 2])
        try:
            self._run(user, params, f"{query}\n{rows}")
        except RefusedError:
            if fault != "during":
                raise
        if fault == "dies":
            os.kill(os.getpid(), signal.SIGKILL)
        if fault == "told":
            raise RefusedError(1000, "Code: 1000. DB::Exception: something went wrong. (POCO_EXCEPTION)")
        if fault is not None:
            self._hang_up()
            return
        self._answer(200, b"")

    def _run(self, user: str, params: dict[str, str], query: str) -> bytes:
        settings = {name: value for name, value in params.items() if name not in _NOT_SETTINGS}
        readonly = settings.pop("readonly", "0")
        if user == "reader":
            readonly = "1"
        connection = _engine.connect(self.folder)
        try:
            # As a server's own profile might have it: what we rely on we say.
            settings = {"async_insert": "1", "max_threads": "2", **settings}
            spelled = ", ".join(f"{_checked(name)} = {_text(value)}" for name, value in settings.items())
            connection.query(f"SET {spelled}")
            if database := params.get("database"):
                connection.query(f"USE `{_checked(database)}`")
            if not query.startswith("INSERT INTO"):
                _check_single(connection, query)
            if readonly != "0":
                connection.query(f"SET readonly = {int(readonly)}")
            return connection.query(query, params.get("default_format", "TabSeparated")).bytes()
        except RuntimeError as problem:
            found = re.search(r"Code: (\d+)", str(problem))
            raise RefusedError(int(found[1]) if found else 1000, str(problem)) from None
        finally:
            connection.close()

    def _refuse(self, problem: RefusedError) -> None:
        self._answer(_STATUS.get(problem.code, 500), str(problem).encode(), problem.code)

    def _answer(self, status: int, body: bytes, code: int | None = None) -> None:
        self.send_response(status)
        if code is not None:
            self.send_header("X-ClickHouse-Exception-Code", str(code))
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _hang_up(self) -> None:
        self.close_connection = True

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its parent has it
        pass


def _check_single(connection: Any, query: str) -> None:
    """A server takes one statement at a time, and writes no file for a client."""
    told = connection.query(f"SELECT formatQuerySingleLine({_text(query)})", "TabSeparatedRaw").bytes()
    if b" INTO OUTFILE " in told:
        raise RefusedError(1, "Code: 1. DB::Exception: INTO OUTFILE is not allowed. (UNSUPPORTED_METHOD)")


def _checked(name: str) -> str:
    if not _NAME.fullmatch(name):
        raise RefusedError(115, f"Code: 115. DB::Exception: Unknown setting '{name}'. (UNKNOWN_SETTING)")
    return name


def _text(value: str) -> str:
    escaped = value.replace("\\", "\\\\").replace("'", "\\'").replace("\x00", "\\0")
    return f"'{escaped}'"


def main(folder: str, port: int, password: str) -> None:
    _Handler.folder = folder
    _Handler.passwords = {"callgate": password, "reader": f"reader-{password}"}
    kept = _engine.connect(folder)  # the engine lives as long as one connection does
    threading.stack_size(16 * 1024 * 1024)  # the engine runs a statement on the caller's stack
    server = ThreadingHTTPServer(("127.0.0.1", port), _Handler)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server.serve_forever()
    kept.close()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), Path(sys.argv[3]).read_text())
