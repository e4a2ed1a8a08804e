"""An honest client in a process of its own: calls one after the other until its stdin is closed.

    neighbour.py PORT TOKEN

Prints what became of it as JSON. Blocking and without a loop, so that it is no load and nothing in the
harness can hold it up.
"""

import json
import select
import socket
import statistics
import sys
import time
from typing import Any

_PATH = "/servers/echo/mcp"
_PROTOCOL = "2025-06-18"
_PAUSE_S = 0.01
# Longer than any bound; whoever waits as long counts as not answered.
_PATIENCE_S = 30.0
FIRST_ID = 1_000


class Neighbour:
    def __init__(self, port: int, token: str) -> None:
        self._port = port
        self._headers = {
            "Host": "localhost",
            "Authorization": f"Bearer {token}",
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self.answered = 0
        self.waits_ms: list[float] = []
        self.failures: list[str] = []
        self._connect()

    def _connect(self) -> None:
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=_PATIENCE_S)
        self._file = self._socket.makefile("rb")
        self._headers.pop("Mcp-Session-Id", None)
        info = {"clientInfo": {"name": "neighbour", "version": "1"}, "protocolVersion": _PROTOCOL}
        headers, _ = self._post({"id": 0, "method": "initialize", "params": info | {"capabilities": {}}})
        self._headers["Mcp-Session-Id"] = headers["mcp-session-id"]
        self._post({"method": "notifications/initialized"})

    def _post(self, message: dict[str, Any]) -> tuple[dict[str, str], bytes]:
        body = json.dumps({"jsonrpc": "2.0"} | message).encode()
        sent = self._headers | {"Content-Length": str(len(body))}
        head = "".join(f"{name}: {value}\r\n" for name, value in sent.items())
        self._socket.sendall(f"POST {_PATH} HTTP/1.1\r\n{head}\r\n".encode() + body)
        status = self._file.readline()
        if not status:
            raise ConnectionError("the gateway hung up")
        headers: dict[str, str] = {}
        while line := self._file.readline().strip().decode():
            name, _, value = line.partition(": ")
            headers[name.lower()] = value
        answer = self._file.read(int(headers.get("content-length", "0")))
        if b" 20" not in status:
            raise ConnectionError(f"{status!r} {answer[:200]!r}")
        return headers, answer

    def call(self) -> None:
        """One call; a failure is noted, and the next call begins anew."""
        number = FIRST_ID + self.answered + len(self.failures)
        text = f"honest {number}"
        params = {"name": "echo", "arguments": {"text": text}}
        begun = time.perf_counter()
        try:
            _, answer = self._post({"id": number, "method": "tools/call", "params": params})
            if text.encode() not in answer:
                raise ConnectionError(f"not its answer: {answer[:200]!r}")
            self.answered += 1
        except OSError as problem:
            self.failures.append(f"{type(problem).__name__}: {problem}")
            self._socket.close()
            try:
                self._connect()
            except (OSError, KeyError) as again:
                self.failures.append(f"connecting: {again}")
                time.sleep(0.1)
        self.waits_ms.append((time.perf_counter() - begun) * 1000)


def main() -> None:
    one = Neighbour(int(sys.argv[1]), sys.argv[2])
    for _ in range(20):
        one.call()  # until everything of the gateway's that a call needs is there
    one.waits_ms.clear()
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], _PAUSE_S)[0]:
        one.call()
    one.call()
    waits = one.waits_ms
    told = {
        "answered": one.answered,
        "failures": one.failures[:5],
        "longest_ms": max(waits),
        "p99_ms": statistics.quantiles(waits, n=100)[98] if len(waits) > 1 else max(waits),
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main()
