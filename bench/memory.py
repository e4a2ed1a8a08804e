"""Memory of `callgate serve`: idle on the demo and with an upstream, with its record open, per session.

`--soak SECONDS`: only whether it grows at full load.
"""

import argparse
import http.client
import json
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from _load import Sample, measure
from _processes import Cores, end_on_sigterm, memory_kb, running, tree, wait_until_idle
from _targets import Gateway, build_tools, callgate, echo

OPEN_S = 8.0
SOAK_STEP_S = 20.0
SOAK_GROWN_MB = 10  # from its second quarter to its last
SESSIONS = 1_000
WARM_UP_SESSIONS = 100  # what is loaded or allocated once is not a session's
IDLE_LIMIT_MB = 90
SESSION_LIMIT_KB = 50
HEADERS = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
INITIALIZE = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "bench-memory", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


@contextmanager
def demo(state: Path) -> Iterator[Gateway]:
    """Without any configuration, so that the demo is served."""
    command = [sys.executable, "-m", "callgate", "serve", "--json", "--port", "0", "--state-dir", str(state)]
    state.mkdir()
    with running(command, state / "stderr.log", {"XDG_CONFIG_HOME": str(state)}, state) as process:
        assert process.stdout is not None
        yield Gateway(json.loads(process.stdout.readline())["mcp"].removesuffix("/mcp"), process.pid)


def open_sessions(gateway: Gateway, path: str, count: int) -> None:
    """Legacy handshakes over one connection: what is left behind is the sessions, not their sockets."""
    connection = http.client.HTTPConnection(gateway.base.removeprefix("http://"), timeout=30)
    for _ in range(count):
        status, session_id, _ = _post(connection, path, INITIALIZE, {})
        assert status == 200, status
        assert session_id is not None
        status, _, body = _post(connection, path, INITIALIZED, {"Mcp-Session-Id": session_id})
        assert status == 202, body
    connection.close()


def _post(
    connection: http.client.HTTPConnection, path: str, message: object, headers: dict[str, str]
) -> tuple[int, str | None, bytes]:
    connection.request("POST", path, json.dumps(message), HEADERS | headers)
    answer = connection.getresponse()
    return answer.status, answer.getheader("Mcp-Session-Id"), answer.read()


def settled_kb(gateway: Gateway) -> tuple[int, int]:
    wait_until_idle(gateway.pid)
    time.sleep(0.5)
    return memory_kb(gateway.pid)


def print_idle(what: str, gateway: Gateway) -> None:
    time.sleep(1)
    resident, proportional = settled_kb(gateway)
    children = len(tree(gateway.pid)) - 1
    beside = f", {children} child processes not counted" if children else ""
    figures = f"{resident / 1024:6.1f} MB VmRSS  {proportional / 1024:6.1f} MB PSS"
    print(f"{what:54} {figures}   (limit {IDLE_LIMIT_MB} MB{beside})")


def print_open(gateway: Gateway, cores: Cores) -> None:
    """After some seconds of calls, all of them stored."""
    sample = measure(gateway.over_http(), 64, OPEN_S, cores)
    resident, proportional = settled_kb(gateway)
    figures = f"{resident / 1024:6.1f} MB VmRSS  {proportional / 1024:6.1f} MB PSS"
    print(f"{'the record open, one HTTP upstream':54} {figures}   ({sample.rps * OPEN_S:,.0f} calls)")


def soak(gateway: Gateway, cores: Cores, seconds: float) -> None:
    """The most memory of each step, under full load without a pause. Fails when it grows."""
    samples: list[Sample] = []
    load = threading.Thread(target=lambda: samples.append(measure(gateway.over_http(), 64, seconds, cores)))
    load.start()
    most: list[float] = []
    began = time.monotonic()
    while time.monotonic() < began + seconds:
        seen: list[int] = []
        until = min(time.monotonic() + SOAK_STEP_S, began + seconds)
        while time.monotonic() < until and load.is_alive():
            time.sleep(0.5)
            seen.append(memory_kb(gateway.pid)[0])
        if not load.is_alive():
            break
        most.append(max(seen) / 1024)
        figures = f"{min(seen) / 1024:6.1f} to {most[-1]:6.1f} MB VmRSS"
        print(f"{time.monotonic() - began:5.0f} s  {figures}", flush=True)
    load.join()
    quarter = len(most) // 4
    assert quarter, "a soak takes at least four steps"
    first, last = statistics.median(most[quarter : 2 * quarter]), statistics.median(most[-quarter:])
    idle = settled_kb(gateway)[0] / 1024
    rps = samples[0].rps
    print(f"{rps * seconds:,.0f} calls at {rps:,.0f} a second; {idle:.1f} MB once all are stored")
    print(
        f"from {first:.1f} MB in the second quarter to {last:.1f} in the last (limit {SOAK_GROWN_MB} MB more)"
    )
    if last > first + SOAK_GROWN_MB:
        raise SystemExit("memory grows with the calls that were made")


def print_growth(what: str, gateway: Gateway, path: str) -> None:
    open_sessions(gateway, path, WARM_UP_SESSIONS)
    before = settled_kb(gateway)
    open_sessions(gateway, path, SESSIONS)
    after = settled_kb(gateway)
    resident, proportional = ((now - then) / SESSIONS for now, then in zip(after, before, strict=True))
    figures = f"{resident:6.1f} KB VmRSS  {proportional:6.1f} KB PSS"
    print(f"{what:54} {figures}   (limit {SESSION_LIMIT_KB} KB; {after[0] / 1024:.0f} MB with {SESSIONS:,})")


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/bench memory", description=__doc__)
    parser.add_argument("--soak", type=float, metavar="SECONDS", help="600 is the promise")
    options = parser.parse_args()
    end_on_sigterm()
    build_tools()
    cores = Cores()
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as folder, echo(cores) as upstream:
        state = Path(folder)
        if options.soak is not None:
            with callgate(cores, upstream, state / "soak", with_child=False) as gateway:
                soak(gateway, cores, options.soak)
            return
        with demo(state / "demo") as gateway:
            print_idle("idle, demo", gateway)
        with callgate(cores, upstream, state / "idle", with_child=False) as gateway:
            print_idle("idle, one HTTP upstream", gateway)
            print_open(gateway, cores)
        for path in ("/mcp", "/servers/echo/mcp"):
            for recording in (True, False):
                place = state / f"{path.count('/')}{recording}"
                with callgate(cores, upstream, place, recording=recording, with_child=False) as gateway:
                    recorded = "" if recording else ", recording off"
                    print_growth(f"each idle session of {path}{recorded}", gateway, path)


if __name__ == "__main__":
    main()
