"""A file that changes a hundred times under load: no call fails, none is lost, nothing is left behind.

Three servers are called all the time, by HTTP and by a pipe: one over HTTP, a program, a database. Meanwhile
others are added, changed, broken and removed, the file is cut and garbled, and at the end those that are
called are changed themselves. One client counts how often it is told that the list of tools changed.
"""

import argparse
import asyncio
import json
import sqlite3
import statistics
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

from _gateway import Gateway, running_gateway
from _steady_calls import HttpTalk, PipeTalk, SteadyCalls, Talk
from _trial import TrialError, expect, run_trial
from _upstream import echo_upstream
from mcp import Client
from mcp.types import ToolListChangedNotification
from record import expect_all_once, recorded

_COUNTING = Path(__file__).parent / "_counting_server.py"
_CALLS_END_S = 40.0  # what left may end its calls for 30 s
_TOLD_S = 0.3  # longer than a moment's changes are put together
_TOOLS = (
    ("web__echo", {"text": "alpha order"}),
    ("child__count", {}),
    ("web__echo", {"text": "beta price"}),
    ("shop__query", {"query": "SELECT count(*) AS n FROM orders"}),
)
_PHASE_IDS = 10_000_000


def counting(name: str, tool: str = "count", more: str = "") -> str:
    arguments = json.dumps(["-I", "-S", str(_COUNTING), tool])
    return f"[mcpServers.{name}]\ncommand = {json.dumps(sys.executable)}\nargs = {arguments}\n{more}\n"


class Written:
    """The file: what is called, and what is written beside it."""

    def __init__(self, state: Path, upstream: str) -> None:
        self._file = state / "callgate.toml"
        self._dsn = f"sqlite:///{state / 'shop.db'}"
        self._upstream = upstream
        self._round = 0

    def called(self) -> str:
        """Another entry for each of the three, each time that they change."""
        at = self._round
        return (
            f'version = 1\n[server]\n[[sources]]\nid = "shop"\ndsn = "{self._dsn}"\ntimeout_s = {30 + at}\n'
            f'[mcpServers.web]\nurl = "{self._upstream}"\n'
            + (f'headers = {{ "X-Round" = "{at}" }}\n' if at else "")
            + counting("child", more=f'isolation = "shared"\nenv = {{ ROUND = "{at}" }}')
        )

    def change_called(self) -> None:
        self._round += 1

    def write(self, extra: str, cut: int | None = None) -> None:
        text = self.called() + extra
        draft = self._file.with_suffix(".draft")
        draft.write_text(text if cut is None else text[:cut])
        draft.replace(self._file)


def changes() -> Iterator[tuple[str, str, bool]]:
    """For ever: what is done, what is then written beside, and whether the list of tools is another one."""
    number = 0
    while True:
        number += 1
        name, source = f"more{number}", f"data{number}"
        yield "added", counting(name), True
        yield "changed", counting(name, "counted"), True
        yield "cut", counting(name), False
        yield "broken", counting(name, "counted", 'isolation = "maybe"'), False
        yield "limited", counting(name, "counted") + '[record]\nkeep = "9d"\n', False
        yield "chosen", counting(name, "counted", 'tools = { leave_out = ["counted"] }'), True
        yield "removed", "", False
        yield "source added", f'[[sources]]\nid = "{source}"\ndsn = "sqlite:///{source}.db"\n', True
        yield "source removed", "", True


def processes(pid: int) -> int:
    """Below this one."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text()
            except OSError:
                continue
            parents[int(entry.name)] = int(stat.rpartition(")")[2].split()[1])
    below, found = {pid}, 0
    while more := {child for child, parent in parents.items() if parent in below} - below:
        below |= more
        found += len(more)
    return found


def descriptors(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))


async def settled(gateway: Gateway, limit: tuple[int, int] | None = None) -> tuple[int, int]:
    """Processes and descriptors: once they are no more than `limit`, or do not change any more."""
    pid, before = gateway.process.pid, (-1, -1)
    for _ in range(int(_CALLS_END_S)):
        now = processes(pid), descriptors(pid)
        if (limit is None and now == before) or (
            limit is not None and now[0] <= limit[0] and now[1] <= limit[1]
        ):
            return now
        before = now
        await asyncio.sleep(1.0)
    return before


async def reload(gateway: Gateway) -> dict[str, object]:
    return await gateway.post("/api/v1/reload", b"{}")


async def trial(options: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        make_database(state / "shop.db")
        async with echo_upstream() as upstream:
            written = Written(state, upstream)
            async with running_gateway(state, None, extra="") as gateway:
                written.write("")
                await reload(gateway)
                await run(options, gateway, state, written)


def make_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("CREATE TABLE orders (id INTEGER)")
        connection.executemany("INSERT INTO orders VALUES (?)", [(n,) for n in range(100)])
    connection.close()


class Listener:
    """Counts how often it is told that the list of tools changed."""

    def __init__(self) -> None:
        self.told = 0

    async def take(self, message: object) -> None:
        self.told += isinstance(message, ToolListChangedNotification)


@asynccontextmanager
async def listening(gateway: Gateway) -> AsyncIterator[Listener]:
    """A client of the official SDK, which has listed the tools."""
    listener = Listener()
    url = f"http://127.0.0.1:{gateway.port}/mcp"
    async with Client(url, mode="legacy", message_handler=listener.take) as client:
        await client.list_tools()
        yield listener


async def run(options: argparse.Namespace, gateway: Gateway, state: Path, written: Written) -> None:
    talks: list[Talk] = [HttpTalk(gateway.port) for _ in range(options.clients)]
    talks += [PipeTalk(state) for _ in range(2)]
    for talk in talks:
        await talk.begin()
    async with listening(gateway) as listener:
        warm = SteadyCalls(0, _TOOLS)
        await warm.run(talks, options.rate, 2.0)
        await recorded(gateway)  # a query has a process of its own, which stays
        before = await settled(gateway)
        alone = SteadyCalls(_PHASE_IDS, _TOOLS)
        await alone.run(talks, options.rate, options.seconds / 2)
        beside = SteadyCalls(2 * _PHASE_IDS, _TOOLS)
        calling = asyncio.create_task(beside.run(talks, options.rate, options.seconds))
        done, expected = await change_often(options, gateway, written, listener)
        written.change_called()
        written.write("")
        last = await reload(gateway)
        await calling
        await asyncio.sleep(_TOLD_S)
        expected += 1  # the time limit of a source is in its tool's description
    calls = (warm, alone, beside)
    failed = [one for some in calls for one in some.failed]
    answered = [number for some in calls for number in some.answered]
    for sentence in failed[:5]:
        print(f"    {sentence}")
    print(f"  {len(beside.answered)} calls beside {done} reloads, {len(alone.answered)} without")
    print(
        f"  p99 {p99(alone):.1f} ms without, {p99(beside):.1f} ms with; longest {max(beside.waits_ms):.0f} ms"
    )
    print(f"  {listener.told} list_changed")
    expect(last["problem"] is None, "the servers that are called were changed last")
    expect(not failed, f"{len(failed)} of {len(answered)} calls failed")
    expect(listener.told == expected, f"told of {expected} changes of the list, each once")
    expect_all_once(answered, await recorded(gateway, " AND ok"))
    for talk in talks:
        await talk.end()
    after = await settled(gateway, before)
    print(f"  processes {before[0]} before, {after[0]} after; descriptors {before[1]} and {after[1]}")
    expect(after[0] <= before[0], "no process more than before")
    expect(after[1] <= before[1], "no descriptor more than before")


async def change_often(
    options: argparse.Namespace, gateway: Gateway, written: Written, listener: Listener
) -> tuple[int, int]:
    """How many reloads, and how many of them changed the list."""
    before, expected, done = listener.told, 0, 0
    ends_at = asyncio.get_running_loop().time() + options.seconds
    for kind, beside, changes_list in changes():
        if done == options.reloads or asyncio.get_running_loop().time() > ends_at:
            break
        written.write(beside, cut=200 if kind == "cut" else None)
        news = await reload(gateway)
        done += 1
        is_refused = news["problem"] is not None
        if is_refused is not (kind in ("cut", "broken")):
            raise TrialError(f"{kind}: {news}")
        expected += changes_list
        await asyncio.sleep(_TOLD_S)
        if listener.told - before != expected:
            raise TrialError(f"{kind}: told {listener.told - before} times of {expected} changes")
    return done, before + expected


def p99(calls: SteadyCalls) -> float:
    return statistics.quantiles(calls.waits_ms, n=100)[98]


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/chaos reload", description=__doc__)
    parser.add_argument("--rate", type=float, default=1000.0, help="calls a second, in all")
    parser.add_argument("--seconds", type=float, default=60.0, help="with reloads; half of it without")
    parser.add_argument("--reloads", type=int, default=100)
    parser.add_argument("--clients", type=int, default=16, help="over HTTP, beside two pipes")
    run_trial(parser, trial)


if __name__ == "__main__":
    main()
