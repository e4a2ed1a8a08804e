"""No orphan survives the gateway, with real processes that are really killed."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from upstreams.heard import DEADLINE_S, Heard
from upstreams.processes import exists, is_alive, wait_gone

from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.warden import Warden

GATEWAY = Path(__file__).parents[1] / "doomed_gateway.py"


@dataclass
class Doomed:
    process: subprocess.Popen[bytes]
    warden: int
    children: list[int]


@contextmanager
def doomed_gateway(*instructions: str) -> Iterator[Doomed]:
    with subprocess.Popen(
        [sys.executable, str(GATEWAY), *instructions],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as process:
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, process.communicate(timeout=DEADLINE_S)[1].decode()
            told = json.loads(line)
            doomed = Doomed(process, told["warden"], told["children"])
            assert len(set(doomed.children)) == 7
            assert all(map(is_alive, [doomed.warden, *doomed.children]))
            yield doomed
        finally:
            process.kill()


@contextmanager
def bystander() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "1000"], start_new_session=True) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_kill_9_of_the_gateway_leaves_neither_child_nor_grandchild_nor_spare_nor_warden(loop: str) -> None:
    with doomed_gateway(loop) as doomed:
        doomed.process.kill()
        wait_gone([*doomed.children, doomed.warden])


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_whole_process_group_does_not_take_the_warden_first(signum: signal.Signals) -> None:
    with doomed_gateway("asyncio") as doomed:
        os.killpg(doomed.process.pid, signum)
        doomed.process.communicate(timeout=DEADLINE_S)
        wait_gone([*doomed.children, doomed.warden])


def test_whoever_reads_our_output_sees_its_end_when_we_end() -> None:
    with doomed_gateway("uvloop") as doomed:
        doomed.process.kill()
        # Both at end of file: neither the warden nor a child holds them open.
        assert doomed.process.communicate(timeout=DEADLINE_S) == (b"", b"")
        wait_gone(doomed.children)


def test_a_withdrawn_group_is_spared() -> None:
    with bystander() as spared, doomed_gateway("uvloop", "release", str(spared.pid)) as doomed:
        doomed.process.kill()
        wait_gone([*doomed.children, doomed.warden])
        assert spared.poll() is None


def test_a_warden_that_was_killed_is_replaced_by_one_that_knows_everything() -> None:
    with doomed_gateway("uvloop", "lose-warden") as doomed:
        doomed.process.kill()
        wait_gone([*doomed.children, doomed.warden])


def test_close_ends_the_warden_and_what_was_left(warden: Warden) -> None:
    assert warden.pid is None
    with bystander() as left, bystander() as withdrawn:
        warden.watch(left.pid)
        warden.watch(withdrawn.pid)
        warden.release(withdrawn.pid)
        pid = warden.pid
        assert pid is not None
        assert os.getsid(pid) == pid
        warden.close()
        warden.close()
        assert not exists(pid)
        assert left.wait(DEADLINE_S) == -signal.SIGKILL
        assert withdrawn.poll() is None


def test_a_warden_that_was_stopped_does_not_stop_us(warden: Warden) -> None:
    with bystander() as watched:
        warden.watch(watched.pid)
        stopped = warden.pid
        assert stopped is not None
        os.kill(stopped, signal.SIGSTOP)
        for _ in range(20_000):  # more than the pipe holds
            warden.release(4_000_000)
        assert warden.pid != stopped
        assert not exists(stopped)


@pytest.mark.parametrize("shell", ["/bin/dash", "/bin/bash"])
def test_the_script_forgets_and_remembers_the_right_groups_in_every_shell(shell: str) -> None:
    if not Path(shell).exists():
        pytest.skip(f"no {shell}")
    source = "from callgate.upstreams.child.warden import Warden; import sys, os, signal\n"
    source += f"warden = Warden({shell!r})\n"
    source += "first, middle, last = map(int, sys.argv[1:])\n"
    source += "for group in (first, middle, last): warden.watch(group)\n"
    source += "warden.release(middle); warden.release(int(str(first)[:-1])); warden.release(99999999)\n"
    source += "os.kill(os.getpid(), signal.SIGKILL)\n"
    with bystander() as first, bystander() as middle, bystander() as last:
        pids = [str(process.pid) for process in (first, middle, last)]
        subprocess.run([sys.executable, "-c", source, *pids], check=False, timeout=DEADLINE_S)
        assert first.wait(DEADLINE_S) == last.wait(DEADLINE_S) == -signal.SIGKILL
        assert middle.poll() is None


async def test_one_warden_serves_all_children_and_is_started_with_the_first(warden: Warden) -> None:
    heard = Heard()
    children = [ChildTransport(ChildCommand("cat", "cat"), heard, warden=warden) for _ in range(3)]
    assert warden.pid is None
    await children[0].start()
    pid = warden.pid
    assert pid is not None
    for child in children[1:]:
        await child.start()
    for child in children:
        await child.close()
    assert warden.pid == pid


async def test_without_a_shell_children_run_all_the_same() -> None:
    heard = Heard()
    warden = Warden(shell="/no/such/shell")
    child = ChildTransport(ChildCommand("echo", "echo", ("1",)), heard, warden=warden)
    await child.start()
    assert await heard.frame() == b"1"
    await child.close()
    assert warden.pid is None
    warden.close()
