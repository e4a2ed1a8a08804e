"""Where the time of one plain tool call goes, stage by stage: µs, Python calls and share of its CPU."""

import argparse
import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

import uvloop
from _processes import FOLDER, Cores
from _targets import Target, build_tools, echo, http_server, stdio_server

import callgate
from callgate.api.metrics import CallMeter
from callgate.app.build import build_gateway
from callgate.app.setup.loading import load_config
from callgate.config.sources.flags import Flags
from callgate.edge import plain_http
from callgate.edge.http import http1, message
from callgate.relay import plain_calls
from callgate.upstreams.child import child
from callgate.upstreams.http import connection, streamable_http
from callgate.upstreams.link import call_on_line, traffic

# What one stage does without the stages that it calls: in the order of a call.
STAGES: list[tuple[str, Any, str]] = [
    ("the client's request is read", http1.ClientConnection, "data_received"),
    ("its message and head are judged", plain_http.LegacyHead, "begin"),
    ("route, session and exchange", plain_calls.PlainCalls, "begin"),
    ("the server's line and its era", call_on_line.ToolOnLine, "begin"),
    ("the request table, its timer, the frame", traffic.Traffic, "begin"),
    ("sent to the server (HTTP)", streamable_http.StreamableHttpTransport, "send"),
    ("sent to the server (stdio)", child.ChildTransport, "send"),
    ("the server's answer is read (HTTP)", connection.UpstreamConnection, "data_received"),
    ("the server's answer is read (stdio)", child.ChildTransport, "stdout_data"),
    ("the answer finds its request", traffic.Traffic, "answered"),
    ("the exchange is settled", plain_calls.BegunToolCall, "received"),
    ("counted, and given to the recorder", CallMeter, "emit"),
    ("the reply is framed", plain_http.LegacyAnswer, "replied"),
    ("the reply is written", message.Responder, "send_json"),
]
SOURCE = str(Path(callgate.__file__).parent)
_CLOCK_ROUNDS = 2_000
_CLOCK_SAMPLES = 25


class Clock:
    """Own CPU time of each stage: the time of what it calls is taken off, and that of the clock itself."""

    def __init__(self) -> None:
        self._spent_ns = [0] * len(STAGES)
        self.calls = [0] * len(STAGES)
        self._below = [0] * len(STAGES)  # calls of stages below it
        self._stack: list[int] = []  # what was spent in stages below the running one
        self.running: list[int] = []
        # What the clock adds to a stage, and to what calls it.
        self._inner_ns, self._outer_ns = self._cost_ns()

    def wrap(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        stack, spent_ns, calls, running = self._stack, self._spent_ns, self.calls, self.running
        below = self._below
        clock = time.thread_time_ns  # not the time on the wall: others use the machine too

        def timed(*args: Any, **more: Any) -> Any:
            stack.append(0)
            running.append(number)
            begun = clock()
            try:
                return function(*args, **more)
            finally:
                spent = clock() - begun
                running.pop()
                spent_ns[number] += spent - stack.pop()
                calls[number] += 1
                if stack:
                    stack[-1] += spent
                    below[running[-1]] += 1

        return timed

    def own_ns(self) -> list[float]:
        return [
            spent - calls * self._inner_ns - below * self._outer_ns
            for spent, calls, below in zip(self._spent_ns, self.calls, self._below, strict=True)
        ]

    def added_ns(self) -> float:
        """What the clock itself cost so far, in all stages and outside of them."""
        return sum(self.calls) * (self._inner_ns + self._outer_ns)

    def clear(self) -> None:
        self._spent_ns[:] = self.calls[:] = self._below[:] = [0] * len(STAGES)

    def _cost_ns(self) -> tuple[float, float]:
        def nothing(_: object) -> None:
            pass

        def run_ns(function: Callable[..., Any]) -> float:
            begun = time.thread_time_ns()
            for _ in range(_CLOCK_ROUNDS):
                function(self)
            return (time.thread_time_ns() - begun) / _CLOCK_ROUNDS

        # The outermost of two: with a stage above it, as most have.
        timed = self.wrap(0, nothing)
        both: list[tuple[float, float]] = []
        for _ in range(_CLOCK_SAMPLES):
            self.clear()
            bare_ns = run_ns(nothing)
            whole_ns = self.wrap(1, run_ns)(timed) - bare_ns
            inner_ns = self._spent_ns[0] / _CLOCK_ROUNDS - bare_ns
            both.append((inner_ns, whole_ns - inner_ns))
        self.clear()
        inner, outer = zip(*both, strict=True)
        return statistics.median(inner), statistics.median(outer)


def config_of(options: argparse.Namespace, upstream: Target, cores: Cores) -> str:
    recording = "enabled = false" if options.record == "off" else f'sync = "{options.record}"'
    text = f"version = 1\n[record]\n{recording}\n"
    return text + (
        http_server("echo", upstream) if options.upstream == "http" else stdio_server("echo", cores)
    )


async def load(cores: Cores, options: argparse.Namespace, url: str) -> dict[str, Any]:
    """Runs mcpload; raises RuntimeError when a reply was missing or wrong."""
    command = [str(FOLDER / "mcpload"), "-c", str(options.connections), "-d", str(options.seconds)]
    process = await asyncio.create_subprocess_exec(
        *cores.on_load([*command, "-w", "0.5", "-t", "echo", url]),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, errors = await process.communicate()
    if process.returncode:
        raise RuntimeError((out + errors).decode())
    return json.loads(out)


def count_calls(clock: Clock) -> tuple[list[int], Callable[[], None]]:
    """How many Python functions of ours run in each stage, from now until the end is told."""
    counts = [0] * (len(STAGES) + 1)

    def note(frame: FrameType, event: str, _: Any) -> None:
        if event == "call" and frame.f_code.co_filename.startswith(SOURCE):
            counts[clock.running[-1] if clock.running else -1] += 1

    sys.setprofile(note)
    return counts, lambda: sys.setprofile(None)


async def measure(options: argparse.Namespace, upstream: Target, cores: Cores) -> None:
    clock = Clock()
    for number, (_, owner, name) in enumerate(STAGES):
        setattr(owner, name, clock.wrap(number, getattr(owner, name)))
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as name:
        file = Path(name) / "callgate.toml"
        file.write_text(config_of(options, upstream, cores))
        loaded = load_config(Flags(config=file), {"CALLGATE_STATE_DIR": f"{name}/state"})
        gateway = await build_gateway(loaded, keeps_store=True)
        port = await gateway.listener.start("127.0.0.1", 0)
        url = f"http://127.0.0.1:{port}/servers/echo/mcp"
        await load(cores, options, url)  # warm
        clock.clear()
        cpu = time.process_time()
        result = await load(cores, options, url)
        cpu = time.process_time() - cpu
        own_ns, calls = clock.own_ns(), clock.calls[0]
        added_s = clock.added_ns() / 1e9
        clock.clear()
        counts, stop = count_calls(clock)
        try:
            await load(cores, options, url)
        finally:
            stop()
        counted = clock.calls[0]
        await gateway.close()
    show(own_ns, calls, cpu - added_s, counts, counted)
    print(
        f"\n{result['rps']:,.0f} calls a second while measured. The clocks of this table cost"
        f" {added_s / calls * 1e6:.1f} µs a call more, which are taken off. {options}; {cores}"
    )


def show(own_ns: list[float], calls: int, cpu_s: float, counts: list[int], counted: int) -> None:
    whole_us = cpu_s * 1e6 / calls
    print("| stage | µs | Python calls | share |\n|---|---|---|---|")
    for (title, _, _), spent_ns, count in zip(STAGES, own_ns, counts, strict=False):
        if count:
            spent_us = spent_ns / 1000 / calls
            # The wrapper around each stage is counted as a function of its own: it is not of ours.
            print(f"| {title} | {spent_us:.1f} | {count / counted:.1f} | {spent_us / whole_us:.0%} |")
    inside_us = sum(own_ns) / 1000 / calls
    rest_us = whole_us - inside_us
    outside = counts[-1] / counted
    print(
        f"| the event loop, the kernel, the recorder's threads | {rest_us:.1f}"
        f" | {outside:.1f} | {rest_us / whole_us:.0%} |"
    )
    print(f"| **all** | **{whole_us:.1f}** | **{sum(counts) / counted:.1f}** | |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", choices=("http", "stdio"), default="http")
    parser.add_argument("--record", choices=("off", "interval", "reply"), default="off")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3.0)
    options = parser.parse_args()
    cores = Cores()
    build_tools()
    if cores.pinned:
        os.sched_setaffinity(0, {cores.target})
    with echo(cores) as upstream:
        uvloop.run(measure(options, upstream, cores))


if __name__ == "__main__":
    main()
