"""What a process for each client costs on a stdio server: time of the first call, later ones, and memory."""

import http.client
import json
import statistics
import sys
import tempfile
import time
from pathlib import Path

from _processes import end_on_sigterm, memory_kb, running, tree

CLIENTS = 5
CALLS = 50
SERVER = Path(__file__).with_name("_sdk_server.py")
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
HELLO = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "bench", "version": "1"}}


class Client:
    def __init__(self, address: str) -> None:
        self._connection = http.client.HTTPConnection(address, timeout=60)
        self._headers = dict(HEADERS)
        answer = self._post({"id": 0, "method": "initialize", "params": HELLO})
        self._headers["Mcp-Session-Id"] = answer[0]["mcp-session-id"]
        self._post({"method": "notifications/initialized"})
        self._post({"id": 1, "method": "tools/list", "params": {}})

    def call_ms(self) -> float:
        params = {"name": "bench__echo", "arguments": {"text": "hello"}}
        began = time.perf_counter()
        _, body = self._post({"id": 2, "method": "tools/call", "params": params})
        assert "result" in json.loads(body), body
        return (time.perf_counter() - began) * 1000

    def _post(self, message: dict[str, object]) -> tuple[dict[str, str], bytes]:
        self._connection.request("POST", "/mcp", json.dumps({"jsonrpc": "2.0", **message}), self._headers)
        answer = self._connection.getresponse()
        headers = {name.lower(): value for name, value in answer.getheaders()}
        return headers, answer.read()


def measure(isolation: str, is_spaced: bool) -> None:
    """`is_spaced`: the second client comes so late that no spare waits for it."""
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        config = state / "callgate.toml"
        config.write_text(
            f"version = 1\n[mcpServers.bench]\ncommand = {json.dumps(sys.executable)}\n"
            f"args = {json.dumps([str(SERVER)])}\nisolation = {json.dumps(isolation)}\n"
        )
        command = [sys.executable, "-m", "callgate", "serve", "--json", "--port", "0"]
        command += ["--config", str(config), "--state-dir", name]
        with running(command, state / "stderr.log", {"XDG_CONFIG_HOME": name}, state) as process:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["url"].removeprefix("http://")
            clients = [Client(address) for _ in range(1 if is_spaced else CLIENTS)]
            firsts: list[float] = []
            for client in clients:
                firsts.append(client.call_ms())
                time.sleep(0 if is_spaced else 2)  # a spare is ready by then
            later = statistics.median(client.call_ms() for client in clients for _ in range(CALLS))
            ours = [pid for pid in tree(process.pid) if str(SERVER).encode() in _command(pid)]
            sizes = [memory_kb(pid)[1] / 1024 for pid in ours]
        told = ", ".join(f"{first:.0f}" for first in firsts)
        print(
            f"  {isolation:8} first call of {len(clients)} clients: {told} ms; later {later:.1f} ms; "
            f"{len(ours)} processes, {sum(sizes) / len(sizes):.0f} MB each"
        )


def _command(pid: int) -> bytes:
    return Path(f"/proc/{pid}/cmdline").read_bytes()


def main() -> None:
    end_on_sigterm()
    measure("shared", is_spaced=False)
    measure("auto", is_spaced=True)
    measure("auto", is_spaced=False)


if __name__ == "__main__":
    main()
