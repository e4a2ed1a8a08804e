"""A result of 1 GB through `callgate serve`: the first rows, truncated, and under 50 MB more memory.

On MariaDB and PostgreSQL. Ends with 1 when an answer is not cut or the gateway grew by more than the limit.
"""

import http.client
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from _processes import end_on_sigterm, running
from databases.database import Database
from databases.mariadb import mariadb_server
from databases.postgres import postgres_server

GROWTH_LIMIT_MB = 50
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
# A million rows of a kilobyte; a thousand of a megabyte; one cell of half a gigabyte.
QUESTIONS = {
    "maria": (
        "SELECT a.seq, repeat('x', 1000) AS filling FROM seq_1_to_1000000 AS a",
        "SELECT a.seq, repeat('x', 1000000) AS filling FROM seq_1_to_1000 AS a",
        "SELECT repeat('x', 500000000) AS filling",
    ),
    "post": (
        "SELECT n, repeat('x', 1000) AS filling FROM generate_series(1, 1000000) AS n",
        "SELECT n, repeat('x', 1000000) AS filling FROM generate_series(1, 1000) AS n",
        "SELECT repeat('x', 500000000) AS filling",
    ),
}


def main() -> int:
    end_on_sigterm()
    with (
        mariadb_server("--max-allowed-packet=1G") as maria,
        postgres_server() as post,
        tempfile.TemporaryDirectory() as folder,
    ):
        return ask_all(maria, post, Path(folder))


def ask_all(maria: Database, post: Database, state: Path) -> int:
    config = state / "callgate.toml"
    sources = "".join(
        f'[[sources]]\nid = "{name}"\ndsn = "{server.dsn}"\nrequire_qualified = false\n'
        for name, server in (("maria", maria), ("post", post))
    )
    config.write_text(f"version = 1\n{sources}")
    command = [sys.executable, "-m", "callgate", "serve", "--json", "--port", "0"]
    command += ["--config", str(config), "--state-dir", str(state)]
    failures = 0
    with running(command, state / "stderr.log", {}, state) as process:
        assert process.stdout is not None
        base = json.loads(process.stdout.readline())["mcp"].removesuffix("/mcp").removeprefix("http://")
        for name in QUESTIONS:
            ask(base, name, "SELECT 1")  # what is loaded once is not the result's
        read_record(base)
        for name, questions in QUESTIONS.items():
            for question in questions:
                failures += not is_cheap(base, name, question, process.pid)
    return 1 if failures else 0


def read_record(base: str) -> None:
    """Opens the record's store now: its 60 MB would else count for whichever question runs just then."""
    connection = http.client.HTTPConnection(base, timeout=120)
    connection.request("GET", "/api/v1/sessions")
    reply = connection.getresponse()
    if reply.status != 200:
        raise RuntimeError(reply.read())
    connection.close()


def is_cheap(base: str, name: str, question: str, pid: int) -> bool:
    Path(f"/proc/{pid}/clear_refs").write_text("5")  # the peak counts anew from here (proc(5))
    before_kb = status_kb(pid, "VmRSS")
    answer = ask(base, name, question)
    grown_mb = (status_kb(pid, "VmHWM") - before_kb) / 1024
    rows = len(answer["rows"])
    cut = answer["truncated"] or "bytes shown]" in str(answer["rows"][0])
    is_good = bool(cut) and grown_mb < GROWTH_LIMIT_MB
    print(
        f"{'ok  ' if is_good else 'FAIL'} {name:6} {rows:5} rows, cut: {cut}, "
        f"{answer['executionTime']:8.0f} ms, {grown_mb:5.1f} MB more at the peak   {question[:70]}"
    )
    return is_good


def status_kb(pid: int, name: str) -> int:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def ask(base: str, name: str, question: str) -> dict[str, Any]:
    message = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "tools/call",
        "params": {
            "name": "query",
            "arguments": {"query": question, "response_format": "json"},
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"},
                "io.modelcontextprotocol/clientCapabilities": {},
            },
        },
    }
    connection = http.client.HTTPConnection(base, timeout=120)
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "query"}
    connection.request("POST", f"/servers/{name}/mcp", json.dumps(message), HEADERS | headers)
    body = json.loads(connection.getresponse().read())
    connection.close()
    if "error" in body or body["result"].get("isError"):
        raise RuntimeError(body)
    return body["result"]["structuredContent"]


if __name__ == "__main__":
    sys.exit(main())
