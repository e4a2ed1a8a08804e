"""Where the time of one plain tool call goes, stage by stage: µs, Python calls, objects, share of its CPU."""

import argparse
import asyncio
import functools
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from threading import get_ident
from types import FrameType
from typing import Any

import uvloop
from _generated import DOCS, machine, put
from _processes import FOLDER, Cores
from _targets import Target, build_tools, echo, http_server, stdio_server

import callgate
from callgate.api.metrics import CallMeter
from callgate.app.build import build_gateway
from callgate.app.setup.loading import load_config
from callgate.config.sources.flags import Flags
from callgate.edge import plain_http
from callgate.edge.http import http1, message
from callgate.http_client import connection
from callgate.recorder import frame_rows, group_rows, recorder
from callgate.recorder.journal import journal
from callgate.relay import plain_calls
from callgate.upstreams.child import child
from callgate.upstreams.http import streamable_http
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
    ("the group is taken, and told of", recorder.Recorder, "_write_due"),
    ("the group's rows", group_rows.Grouper, "group"),
    ("looked through, encoded, framed", frame_rows.Framer, "clean_frames_of"),
    ("written to the journal", journal.JournalWriter, "append"),
    ("the reply is framed", plain_http.LegacyAnswer, "replied"),
    ("the reply is written", message.Responder, "send_json"),
]
SOURCE = str(Path(callgate.__file__).parent)
_CLOCK_ROUNDS = 2_000
_CLOCK_SAMPLES = 25


class Clock:
    """What each stage itself takes of something that is read before and after it: CPU time, or objects.
    What the stages that it calls take is taken off, and what the clock takes."""

    def __init__(self, read: Callable[[], int]) -> None:
        self._read = read
        self._spent = [0] * len(STAGES)
        self.calls = [0] * len(STAGES)
        self._below = [0] * len(STAGES)  # calls of stages below it
        self._stack: list[int] = []  # what was spent in stages below the running one
        self.running: list[int] = []
        self._thread = get_ident()
        # What the clock adds to a stage, and to what calls it.
        self._inner, self._outer = self._cost()

    def wrap(self, number: int, function: Callable[..., Any]) -> Callable[..., Any]:
        stack, spent_in, calls, running = self._stack, self._spent, self.calls, self.running
        below = self._below
        clock = self._read

        def timed(*args: Any, **more: Any) -> Any:
            if get_ident() != self._thread:
                return function(*args, **more)  # the recorder's own thread, for what takes longer
            stack.append(0)
            running.append(number)
            begun = clock()
            try:
                return function(*args, **more)
            finally:
                spent = clock() - begun
                running.pop()
                spent_in[number] += spent - stack.pop()
                calls[number] += 1
                if stack:
                    stack[-1] += spent
                    below[running[-1]] += 1

        functools.update_wrapper(timed, function)
        return timed

    def own(self) -> list[float]:
        return [
            spent - calls * self._inner - below * self._outer
            for spent, calls, below in zip(self._spent, self.calls, self._below, strict=True)
        ]

    def added(self) -> float:
        """What the clock itself cost so far, in all stages and outside of them."""
        return sum(self.calls) * (self._inner + self._outer)

    def clear(self) -> None:
        self._spent[:] = self.calls[:] = self._below[:] = [0] * len(STAGES)

    def _cost(self) -> tuple[float, float]:
        def nothing(_: object) -> None:
            pass

        def run(function: Callable[..., Any]) -> float:
            begun = self._read()
            for _ in range(_CLOCK_ROUNDS):
                function(self)
            return (self._read() - begun) / _CLOCK_ROUNDS

        # The outermost of two: with a stage above it, as most have.
        timed = self.wrap(0, nothing)
        both: list[tuple[float, float]] = []
        for _ in range(_CLOCK_SAMPLES):
            self.clear()
            bare = run(nothing)
            whole = self.wrap(1, run)(timed) - bare
            inner = self._spent[0] / _CLOCK_ROUNDS - bare
            both.append((inner, whole - inner))
        self.clear()
        inners, outers = zip(*both, strict=True)
        return statistics.median(inners), statistics.median(outers)


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
        *cores.on_load([*command, "-w", "0.5", "-t", "echo__echo" if options.aggregate else "echo", url]),
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


def watch(clock: Clock) -> None:
    for number, (_, owner, name) in enumerate(STAGES):
        function = getattr(owner, name)
        setattr(owner, name, clock.wrap(number, getattr(function, "__wrapped__", function)))


@asynccontextmanager
async def serving(options: argparse.Namespace, upstream: Target, cores: Cores) -> AsyncIterator[str]:
    """The address of a gateway that is warm."""
    with tempfile.TemporaryDirectory(prefix="callgate-bench-") as name:
        file = Path(name) / "callgate.toml"
        file.write_text(config_of(options, upstream, cores))
        loaded = load_config(Flags(config=file), {"CALLGATE_STATE_DIR": f"{name}/state"})
        gateway = await build_gateway(loaded, keeps_store=True)
        port = await gateway.listener.start("127.0.0.1", 0)
        url = f"http://127.0.0.1:{port}{'' if options.aggregate else '/servers/echo'}/mcp"
        await load(cores, options, url)
        yield url
        await gateway.close()


async def measure(options: argparse.Namespace, upstream: Target, cores: Cores) -> None:
    clock = Clock(time.thread_time_ns)  # not the time on the wall: others use the machine too
    watch(clock)
    async with serving(options, upstream, cores) as url:
        clock.clear()
        cpu = time.process_time()
        result = await load(cores, options, url)
        cpu = time.process_time() - cpu
        own_ns, calls = clock.own(), clock.calls[0]
        added_s = clock.added() / 1e9
        clock.clear()
        counts, stop = count_calls(clock)
        try:
            await load(cores, options, url)
        finally:
            stop()
        counted = [count / clock.calls[0] for count in counts]
    blocks = Clock(sys.getallocatedblocks)
    watch(blocks)
    async with serving(options, upstream, cores) as url:
        blocks.clear()
        await load(cores, options, url)
        objects = [kept / blocks.calls[0] for kept in blocks.own()]
    lines = table([spent / calls / 1000 for spent in own_ns], (cpu - added_s) * 1e6 / calls, counted, objects)
    lines += ["", f"{machine()}, load {os.getloadavg()[0]:.1f}."]
    print("\n".join(lines))
    print("\nObjects: blocks of memory that a stage leaves for the next ones, less those that it lets go.")
    print(
        f"{result['rps']:,.0f} calls a second while measured. The clocks of this table cost"
        f" {added_s / calls * 1e6:.1f} µs a call more, which are taken off. {options}; {cores}"
    )
    if options.write:
        put(DOCS / "performance.md", "stages", "\n".join(lines))


def table(own_us: list[float], whole_us: float, counted: list[float], objects: list[float]) -> list[str]:
    """All of them for each call; the last of `counted` is outside of the stages."""
    lines = ["| stage | µs | Python calls | objects | share |", "|---|---|---|---|---|"]
    for (title, _, _), spent_us, count, kept in zip(STAGES, own_us, counted, objects, strict=False):
        if count:
            share = spent_us / whole_us
            lines.append(f"| {title} | {spent_us:.1f} | {count:.1f} | {kept:+.1f} | {share:.0%} |")
    rest_us = whole_us - sum(own_us)
    lines.append(
        f"| the event loop, the kernel, the recorder's threads | {rest_us:.1f}"
        f" | {counted[-1]:.1f} | {-sum(objects):+.1f} | {rest_us / whole_us:.0%} |"
    )
    return [*lines, f"| **all** | **{whole_us:.1f}** | **{sum(counted):.1f}** | | |"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", choices=("http", "stdio"), default="http")
    parser.add_argument("--record", choices=("off", "interval", "reply"), default="off")
    parser.add_argument("--aggregate", action="store_true", help="at /mcp instead of /servers/echo/mcp")
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--write", action="store_true", help="store the table in docs/performance.md")
    options = parser.parse_args()
    cores = Cores()
    build_tools()
    if cores.pinned:
        os.sched_setaffinity(0, {cores.target})
    with echo(cores) as upstream:
        uvloop.run(measure(options, upstream, cores))


if __name__ == "__main__":
    main()
