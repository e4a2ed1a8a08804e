"""Workers that die, the one that has the store too, and how all of them end."""

import asyncio
import fcntl
import itertools
import json
import os
import signal
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from end_to_end.raw_clients import LegacyClient
from replicas.test_one_gateway import text_of
from waiting import until
from workers.team import Team, running_team

# More rounds find what one does not.
ROUNDS = int(os.environ.get("CALLGATE_WORKER_KILLS", "1"))
QUICK = (sys.executable, str(Path(__file__).with_name("quick_looks.py")))
COUNTED = "SELECT count(*), count(DISTINCT session_id) FROM rpc_events WHERE tool_name = 'counter__count'"
ANSWERED = """
SELECT string_agg(json_extract_string(request_json, '$.arguments.number'), ' ') FROM rpc_events
WHERE method = 'tools/call' AND outcome = 'answered' AND tool_name = 'count'
"""


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


def all_processes(team: Team) -> list[int]:
    """The supervisor, its workers, and all that these started."""
    found = [team.process.pid]
    for pid in found:
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            found += map(int, task.read_text().split())
    return found


def home_of(team: Team, client: LegacyClient) -> int:
    """The number of the worker that has its session."""
    (place,) = team.sockets.glob(f"*.{client.session.split('.')[1]}.sock")
    return int(place.name.partition(".")[0])


@dataclass
class Callers:
    """Call again and again, and note what was answered. What breaks off or is refused is tried anew."""

    team: Team
    answered: list[int] = field(default_factory=list[int])
    numbers: "itertools.count[int]" = field(default_factory=itertools.count)
    is_over: bool = False

    async def call(self) -> None:
        while not self.is_over:
            number = next(self.numbers)
            with suppress(OSError, EOFError, json.JSONDecodeError):
                async with self.team.modern(path="/servers/counter/mcp") as client:
                    if "result" in await client.call("count", {"number": number}):
                        self.answered.append(number)

    async def until_more(self) -> None:
        before = len(self.answered)
        await until(lambda: len(self.answered) >= before + 5)


async def test_killed_workers_are_started_again_and_no_answered_call_is_lost_or_doubled(
    tmp_path: Path,
) -> None:
    async with running_team(tmp_path, workers=2) as team:
        plain: dict[int, LegacyClient] = {}
        while len(plain) < 2:
            client = await team.client().__aenter__()
            plain.setdefault(home_of(team, client), client)
        for client in plain.values():
            assert text_of(await client.call("counter__count")).startswith("1 ")
        callers = Callers(team)
        calling = [asyncio.create_task(callers.call()) for _ in range(4)]
        for number in [1, 0] * ROUNDS:
            await callers.until_more()
            killed = team.kill(number)
            await team.until_whole(2, besides=killed)
            await callers.until_more()

            async def goes_on(client: LegacyClient = plain[number]) -> bool:
                return "result" in await client.call("counter__count")

            await until(goes_on)
        callers.is_over = True
        await asyncio.gather(*calling)
        recorded = [int(number) for number in team.ask(ANSWERED)[0][0].split()]
        assert len(recorded) == len(set(recorded))
        assert not set(callers.answered) - set(recorded)
        for client in plain.values():
            await client.hang_up()
        processes, sockets = all_processes(team), team.sockets
        team.process.send_signal(signal.SIGTERM)
        assert await team.process.wait() == 0
        await until(lambda: not any(map(is_running, processes)))
        assert not sockets.exists()
        left = {path.name for path in (tmp_path / "state" / "workers").iterdir()}
        assert left <= {"directory.db", "directory.db-wal", "directory.db-shm", "supervisor.lock"}
        assert not (tmp_path / "state" / "gateway.json").exists()


async def test_workers_end_when_their_supervisor_is_killed_and_sessions_go_on_at_the_next_start(
    tmp_path: Path,
) -> None:
    async with running_team(tmp_path, workers=2) as team, team.client() as client:
        assert text_of(await client.call("counter__count")).startswith("1 ")
        processes, sockets = all_processes(team), team.sockets
        assert len(processes) >= 5
        team.process.kill()
        await until(lambda: not any(map(is_running, processes)))
        assert not sockets.exists()
    async with running_team(tmp_path, workers=2) as team:
        client.port = team.port
        counts = [text_of(await client.call("counter__count")).split()[0] for _ in range(4)]
        assert counts == ["1", "2", "3", "4"]
        assert team.ask(COUNTED) == [["5", "1"]]
        await client.hang_up()


async def test_a_start_waits_for_what_still_ends_of_a_supervisor_that_was_killed(tmp_path: Path) -> None:
    files = tmp_path / "state" / "workers"
    for folder in (files.parent, files):
        folder.mkdir(mode=0o700)
    lock = os.open(files / "supervisor.lock", os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)

    def is_waited_for() -> bool:
        return any(
            is_open_there(link, files / "supervisor.lock") for link in Path("/proc").glob("[0-9]*/fd/*")
        )

    async def end() -> None:
        await until(is_waited_for)
        os.close(lock)

    ending = asyncio.create_task(end())
    async with running_team(tmp_path, workers=2) as team:
        await ending
        await team.until_whole(2)


def is_open_there(descriptor: Path, file: Path) -> bool:
    """In another process."""
    if descriptor.parts[2] == str(os.getpid()):
        return False
    with suppress(OSError):
        return descriptor.readlink() == file
    return False


async def test_a_worker_that_stands_still_is_killed_and_started_again(tmp_path: Path) -> None:
    async with running_team(tmp_path, workers=2, program=QUICK) as team:
        still = team.pids()[1]
        os.kill(still, signal.SIGSTOP)  # as an event loop that never comes back
        await until(lambda: not is_running(still))
        await team.until_whole(2, besides=still)
        assert f"Worker 1 (pid {still}) does nothing for" in team.stderr
        async with team.client() as client:
            assert text_of(await client.call("counter__count")).startswith("1 ")


async def test_a_second_signal_ends_all_at_once(tmp_path: Path) -> None:
    async with running_team(tmp_path, workers=2, extra='[server]\ndrain = "10m"') as team:
        processes, sockets = all_processes(team), team.sockets
        team.process.send_signal(signal.SIGTERM)
        for _ in range(4):
            await until(
                lambda: team.get("/readyz") == {"status": "not ready", "reason": "The gateway is stopping"}
            )
        for pid in team.pids().values():  # as systemd does, which signals every process of a unit
            os.kill(pid, signal.SIGTERM)
        for _ in range(4):
            assert team.get("/readyz")["status"] == "not ready"
        assert all(map(is_running, processes))
        team.process.send_signal(signal.SIGTERM)
        assert await team.process.wait() == -signal.SIGTERM
        await until(lambda: not any(map(is_running, processes)))
        assert not sockets.exists()


async def test_without_the_hop_a_session_is_served_only_where_it_is(tmp_path: Path) -> None:
    """What the other tests show would fail without it; and nobody takes over a session that lives."""
    async with running_team(tmp_path, workers=2, is_cut=True) as team:
        client = team.client()

        async def has_session() -> bool:
            """Its second request, a notification, may arrive elsewhere already."""
            with suppress(AssertionError):
                await client.__aenter__()
            return bool(client.session)

        await until(has_session)
        answers: list[Any] = []

        async def was_served_and_refused() -> bool:
            answers.append(await client.call("counter__count"))
            return any("error" in one for one in answers) and any("result" in one for one in answers)

        await until(was_served_and_refused)
        refused = {one["error"]["data"]["code"] for one in answers if "error" in one}
        assert refused == {"upstream.replica_unreachable"}
        counts = [int(text_of(one).split()[0]) for one in answers if "result" in one]
        assert counts == list(range(1, len(counts) + 1))
        await client.hang_up()
