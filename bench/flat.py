"""CPU of one plain tool call against sizes: servers, tools, sessions, calls in flight, stored events.

The sizes of a row take turns in short rounds, each round in the other direction, and the cheapest round of
each size counts: what else the machine does can only add to it. Work that comes each second whether or not
anybody calls is in each round, and is also counted by itself.
"""

import argparse
import asyncio
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from _generated import RESULTS, machine, put
from _load import PacedLoad, paced
from _processes import FOLDER, IDLE_S, Cores, end_on_sigterm
from _targets import (
    BENCH,
    STORED_S,
    Gateway,
    Target,
    build_tools,
    echo,
    http_server,
    serving,
    sketch,
    stdio_server,
)
from memory import open_sessions
from record import fill

CONNECTIONS = 64
GOAL = 1.10
MANY_SERVERS = 10  # those that share the tools of all servers
_OFF = "enabled = false"
_COUNT_S = 10.0
_QUIET_S = 5.5  # in which nobody calls: what comes every five seconds comes once
_COUNTS = 3
_WITH_TOKEN = '{"text":"hello-%n"},"_meta":{"progressToken":%n}'  # mcpload puts it in as it is


@dataclass(frozen=True, slots=True)
class Size:
    count: int
    target: Target
    connections: int = CONNECTIONS
    tools: int | None = None  # how many a client must be told of


@dataclass(frozen=True, slots=True)
class Row:
    title: str
    sizes: Sequence[Size]
    base: int = 0  # which of the sizes the others are compared with
    is_ours: bool = True  # False: a peer, of which only the CPU is known
    is_recorded: bool = False  # storing costs much each time, so much has to be stored at a time


class Field:
    """Starts what one row needs; the stack stops it."""

    def __init__(self, stack: ExitStack, cores: Cores) -> None:
        self.cores = cores
        self._stack = stack
        self._folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="callgate-bench-")))
        self._started = 0

    def upstream(self, tools: int = 1) -> Target:
        # Without its promise, connections that were idle for four seconds are opened again for tool calls.
        return self._stack.enter_context(echo(self.cores, "--keep-alive", "--tools", str(tools)))

    def gateway(self, servers: str, record: str = _OFF, stored: int = 0) -> Gateway:
        self._started += 1
        state = self._folder / str(self._started)
        if stored:
            asyncio.run(fill(state, stored))
        text = f"version = 1\n[record]\n{record}\n{servers}"
        program = [str(BENCH / "_counting_gateway.py")]
        base, pid = self._stack.enter_context(serving(self.cores, state, text, {}, program))
        return Gateway(base, pid, IDLE_S if record == _OFF else STORED_S)

    def least_gateway(self, *options: str) -> Target:
        """In Python, before an echo server as a child."""
        child = self.cores.on_load([str(FOLDER / "echo_mcp"), "--stdio", *options])
        return self._stack.enter_context(sketch(self.cores, "the least gateway", ["--", *child]))

    def load(self, size: Size, seconds: float) -> PacedLoad:
        load = self._stack.enter_context(paced(size.target, size.connections, seconds, self.cores))
        if size.tools is not None and load.listed != size.tools:
            raise RuntimeError(f"{size.target.name}: {load.listed} tools are listed instead of {size.tools}")
        return load


# ---- the rows


def of_servers(field: Field) -> list[Row]:
    upstream = field.upstream()
    aggregate: list[Size] = []
    direct: list[Size] = []
    for count in (1, 10, 100):
        names = ["echo", *(f"other{number}" for number in range(1, count))]
        gateway = field.gateway("".join(http_server(name, upstream) for name in names))
        aggregate.append(Size(count, gateway.aggregate(), tools=count))
        direct.append(Size(count, gateway.over_http(), tools=1))
    return [Row("configured servers, `/mcp`", aggregate), Row("configured servers, `/servers/…`", direct)]


def of_tools(field: Field) -> list[Row]:
    aggregate: list[Size] = []
    direct: list[Size] = []
    shared: list[Size] = []
    for count in (10, 1_000, 10_000):
        gateway = field.gateway(http_server("echo", field.upstream(count)))
        aggregate.append(Size(count, gateway.aggregate(), tools=count))
        direct.append(Size(count, gateway.over_http(), tools=count))
        upstream = field.upstream(count // MANY_SERVERS)
        names = ["echo", *(f"other{number}" for number in range(1, MANY_SERVERS))]
        gateway = field.gateway("".join(http_server(name, upstream) for name in names))
        shared.append(Size(count, gateway.aggregate(), tools=count))
    return [
        Row("tools of the called server, `/mcp`", aggregate),
        Row("tools of the called server, `/servers/…`", direct),
        Row(f"tools of {MANY_SERVERS} servers, `/mcp`", shared),
    ]


def of_sessions(field: Field) -> list[Row]:
    sizes: list[Size] = []
    upstream = field.upstream()
    for count in (1, 1_000, 10_000):
        gateway = field.gateway(http_server("echo", upstream))
        target = gateway.over_http()
        open_sessions(gateway, "/servers/echo/mcp", count - 1)
        sizes.append(Size(count, target))
    return [Row("open sessions", sizes)]


def of_calls_in_flight(field: Field) -> list[Row]:
    """Most of them wait at the server, over a pipe: it answers them in random order. Each has a connection of
    its own, which costs the kernel and the caches more, so the least gateway in Python is measured beside."""
    plain: list[Size] = []
    with_token: list[Size] = []
    least: list[Size] = []
    for count in (1, CONNECTIONS, 1_000, 10_000):
        hold = max(0, count - CONNECTIONS)
        gateway = field.gateway(stdio_server("pipe", field.cores, "--hold", str(hold)))
        plain.append(Size(count, gateway.over_stdio(), count))
    for count in (CONNECTIONS, 10_000):
        hold = max(0, count - CONNECTIONS)
        gateway = field.gateway(stdio_server("pipe", field.cores, "--hold", str(hold)))
        target = replace(gateway.over_stdio(), arguments=(_WITH_TOKEN,), expected="hello-%n")
        with_token.append(Size(count, target, count))
        least.append(Size(count, field.least_gateway("--hold", str(hold)), count))
    # A single call wakes every process for itself: it costs more than one of many.
    return [
        Row("calls in flight", plain, base=1),
        Row("the same, with a progress token", with_token),
        Row("the same, the least gateway in Python", least, is_ours=False),
    ]


def of_events(field: Field) -> list[Row]:
    upstream = field.upstream()
    sizes = [
        Size(count, field.gateway(http_server("echo", upstream), 'sync = "interval"', count).over_http())
        for count in (0, 1_000_000)
    ]
    return [Row("events in the record, recording on", sizes, is_recorded=True)]


ROWS: dict[str, Callable[[Field], list[Row]]] = {
    "servers": of_servers,
    "tools": of_tools,
    "sessions": of_sessions,
    "in-flight": of_calls_in_flight,
    "events": of_events,
}


# ---- measuring


def functions_of(load: PacedLoad) -> tuple[float, float]:
    """Python functions of ours that the event loop runs for each call, and in a second without calls. Of
    several counts the least: timers run beside calls, and to count makes calls slow and timers weigh more."""
    pid = load.target.pid
    os.kill(pid, signal.SIGUSR1)
    time.sleep(_QUIET_S)
    quiet = _counted(pid)
    of_call: list[float] = []
    for _ in range(_COUNTS):
        load.run(lambda: os.kill(pid, signal.SIGUSR1))
        busy = _counted(pid)
        of_call.append(busy.functions / busy.exchanges)
    return min(of_call), quiet.functions / quiet.seconds


@dataclass(frozen=True, slots=True)
class _Counted:
    functions: int
    exchanges: int
    seconds: float


def _counted(pid: int) -> _Counted:
    """Ends a count."""
    file = Path(f"/proc/{pid}/cwd/count")
    file.unlink(missing_ok=True)
    os.kill(pid, signal.SIGUSR1)
    until = time.monotonic() + _COUNT_S
    while not file.exists():
        if time.monotonic() > until:
            raise RuntimeError("the gateway did not say how many functions it ran")
        time.sleep(0.05)
    functions, exchanges, seconds = file.read_text().split()
    return _Counted(int(functions), int(exchanges), float(seconds))


def lines_of(row: Row, field: Field, options: argparse.Namespace) -> list[str]:
    print(row.title, file=sys.stderr)
    rounds, seconds = options.rounds, options.seconds
    if row.is_recorded:
        rounds, seconds = (rounds + 1) // 2, seconds * 4
    loads = [field.load(size, seconds) for size in row.sizes]
    costs: list[list[float]] = [[] for _ in loads]
    for number in range(rounds):
        turns = list(zip(loads, costs, strict=True))
        for load, cost in turns if number % 2 else reversed(turns):
            cost.append(load.cpu_us())
    base_us = min(costs[row.base])
    lines: list[str] = []
    for size, load, cost in zip(row.sizes, loads, costs, strict=True):
        ratio = min(cost) / base_us
        told = "1" if load is loads[row.base] else f"**{ratio:.2f}**" if ratio > GOAL else f"{ratio:.2f}"
        cells = [row.title, f"{size.count:,}", f"{min(cost):.1f} to {max(cost):.1f}", told, "", ""]
        if row.is_ours:
            of_call, of_second = functions_of(load)
            cells[-2:] = f"{of_call:.1f}", f"{of_second:,.0f}"
        lines.append(f"| {' | '.join(cells)} |")
        print(lines[-1], file=sys.stderr)
    return lines


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/bench flat", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"{', '.join(ROWS)}; all if none is named")
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--seconds", type=float, default=0.5, help="of each measurement")
    parser.add_argument("--write", action="store_true", help="store the tables in bench/RESULTS.md")
    options = parser.parse_args()
    if unknown := set(options.rows) - set(ROWS):
        parser.error(f"there is no row {', '.join(sorted(unknown))}; there are {', '.join(ROWS)}")
    return options


def main() -> None:
    options = read_options()
    end_on_sigterm()
    build_tools()
    cores = Cores()
    for name in options.rows or ROWS:
        begun = time.monotonic()
        lines = [
            "| size | of it | CPU µs a call | ratio | Python functions a call | in a second without calls |",
            "|---|---|---|---|---|---|",
        ]
        with ExitStack() as stack:
            field = Field(stack, cores)
            for row in ROWS[name](field):
                lines += lines_of(row, field, options)
        lines += ["", f"{machine()}, load {os.getloadavg()[0]:.1f};"]
        lines += [f"`scripts/bench flat {name}`, {options.rounds} rounds of {options.seconds:g} s; {cores}."]
        print("\n".join(lines))
        print(f"{time.monotonic() - begun:.0f} s\n", file=sys.stderr)
        if options.write:
            put(RESULTS, f"flat {name}", "\n".join(lines))
    print(
        "\nThe sizes take turns in each round, and ratios are of the cheapest rounds."
        f" The goal is at most {GOAL:.2f}. Recording is off if nothing is said; with it on, half as many"
        " rounds, four times as long."
    )


if __name__ == "__main__":
    main()
