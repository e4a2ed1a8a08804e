"""How quick a start is: --help, cold start to the first answer, idle memory; beside importing the mcp SDK."""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from urllib.request import Request, urlopen

ROUNDS = 5
CALLGATE = [sys.executable, "-m", "callgate"]
QUESTION = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {
        "name": "demo__query",
        "arguments": {"query": "SELECT count(*) FROM shop.orders"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}
HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "demo__query",
}


def cpu_ms(command: list[str]) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) * 1000


def cold_start(state: str) -> tuple[float, float]:
    """Milliseconds from the command to the first answer of a tool, and the resident memory after it in MB."""
    environment = os.environ | {"CALLGATE_STATE_DIR": state, "XDG_CONFIG_HOME": state}
    begun = time.perf_counter()
    command = [*CALLGATE, "serve", "--json", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, cwd=state) as gateway:
        assert gateway.stdout is not None
        url = json.loads(gateway.stdout.readline())["mcp"]
        with urlopen(Request(url, json.dumps(QUESTION).encode(), HEADERS)) as answer:
            assert not json.load(answer)["result"].get("isError")
        elapsed_ms = (time.perf_counter() - begun) * 1000
        status = Path(f"/proc/{gateway.pid}/status").read_text()
        resident_kb = int(status.partition("VmRSS:")[2].split()[0])
        gateway.terminate()
    return elapsed_ms, resident_kb / 1024


def main() -> None:
    help_ms = statistics.median(cpu_ms([*CALLGATE, "--help"]) for _ in range(ROUNDS))
    sdk_ms = statistics.median(cpu_ms([sys.executable, "-c", "import mcp"]) for _ in range(ROUNDS))
    with tempfile.TemporaryDirectory() as state:
        first_ms, _ = cold_start(state)
        starts = [cold_start(state) for _ in range(ROUNDS)]
    again_ms = statistics.median(elapsed for elapsed, _ in starts)
    memory_mb = statistics.median(memory for _, memory in starts)
    share = f"{help_ms / sdk_ms:.2f} of `import mcp`, {sdk_ms:.0f}"
    print(f"--help                     {help_ms:7.0f} ms CPU   (limit 300; {share})")
    print(f"first start ever, to an answer  {first_ms:5.0f} ms       (makes the demo shop)")
    print(f"later starts, to an answer      {again_ms:5.0f} ms       (goal 700)")
    print(f"memory after one answer         {memory_mb:5.0f} MB       (limit 90, goal 60)")


if __name__ == "__main__":
    main()
