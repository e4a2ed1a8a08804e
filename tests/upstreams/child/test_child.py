"""The stdio child transport with real processes, under asyncio and uvloop."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from upstreams.heard import DEADLINE_S, Heard
from upstreams.processes import exists, is_alive, wait_gone
from waiting import until

from callgate.model.error_codes import UPSTREAM_EXITED, UPSTREAM_TOO_LARGE, UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand
from callgate.upstreams.child.process import ChildPatience
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.transport import Transport
from callgate.wire.framing.lines import MAX_FRAME_BYTES

SERVERS = Path(__file__).parents[1] / "servers"
# Long enough that a stage never passes by accident, short enough to wait for the last of them.
BRIEF = ChildPatience(stdin_wait_s=0.3, term_wait_s=0.3, drain_s=0.3)
PATIENT = ChildPatience(stdin_wait_s=0.3, term_wait_s=DEADLINE_S)

Running = Callable[..., AbstractAsyncContextManager[ChildTransport]]


def command_of(program: str, *args: str, **more: Any) -> ChildCommand:
    return ChildCommand("files", sys.executable, ("-I", "-S", str(SERVERS / program), *args), **more)


def request(rpc_id: int, text: str = "") -> bytes:
    frame = json.dumps({"jsonrpc": "2.0", "id": rpc_id, "method": "echo", "params": {"text": text}})
    return frame.encode()


@pytest.fixture
def running(heard: Heard, warden: Warden) -> Running:
    @asynccontextmanager
    async def run(
        program: str | ChildCommand, *args: str, patience: ChildPatience = BRIEF, **more: Any
    ) -> AsyncIterator[ChildTransport]:
        command = command_of(program, *args, **more) if isinstance(program, str) else program
        child = ChildTransport(command, heard, patience=patience, warden=warden)
        await child.start()
        pid = child.pid
        assert pid is not None
        try:
            yield child
        finally:
            async with asyncio.timeout(DEADLINE_S):
                await child.close()
            assert not exists(pid), "the child is neither running nor a zombie"
            assert not asyncio.all_tasks() - {asyncio.current_task()}

    return run


# --- frames


async def test_a_request_is_answered(running: Running, heard: Heard) -> None:
    async with running("echo.py") as child:
        assert child.send(request(1, "hello"))
        assert json.loads(await heard.frame())["result"] == {"text": "hello"}
    assert heard.losses == []


async def test_frames_of_one_turn_arrive_in_their_order(running: Running, heard: Heard) -> None:
    async with running("echo.py") as child:
        assert all(child.send(request(rpc_id)) for rpc_id in range(1000))
        await heard.frame(999)
        assert [json.loads(frame)["id"] for frame in heard.frames] == list(range(1000))


async def test_a_frame_with_raw_newlines_is_sent_as_one_line(running: Running, heard: Heard) -> None:
    async with running("echo.py") as child:
        assert child.send(b'{"id": 1,\r\n "params":\n[2]}', 1, "echo")
        assert json.loads(await heard.frame())["result"] == [2]


async def test_every_line_reaches_the_receiver_even_if_it_is_garbage(running: Running, heard: Heard) -> None:
    async with running("garbage.py"):
        await heard.frame(3)
        assert heard.frames == [
            b"Starting server...",
            b"\xff\xfe\x00",
            b"[DEBUG] {not json",
            b'{"id": 1}',
        ]


async def test_an_answer_given_twice_is_received_twice(running: Running, heard: Heard) -> None:
    async with running("answers_twice.py") as child:
        child.send(request(5))
        assert await heard.frame(1) == await heard.frame(0)


async def test_a_flood_of_frames_arrives_whole_and_in_order(running: Running, heard: Heard) -> None:
    async with running("flood.py", "200000", "stay"):
        await heard.frame(199_999)
        assert heard.frames == [b'{"number": %d}' % number for number in range(200_000)]


async def test_a_frame_just_inside_the_limit_passes(running: Running, heard: Heard) -> None:
    async with running("huge_frame.py", str(MAX_FRAME_BYTES)):
        assert await heard.frame(1) == b'"after"'
        assert len(heard.frames[0]) == MAX_FRAME_BYTES


async def test_a_frame_of_20_mb_ends_the_child(running: Running, heard: Heard) -> None:
    async with running("huge_frame.py", "20000000") as child:
        error = await heard.loss()
        assert error.code is UPSTREAM_TOO_LARGE
        assert error.message == "files sent a message of more than 16777216 bytes and was stopped"
        assert not child.send(request(1))
    assert heard.frames == []
    assert len(heard.losses) == 1


async def test_an_abandoned_request_changes_nothing(running: Running, heard: Heard) -> None:
    async with running("echo.py") as child:
        child.send(request(1))
        child.abandon(1)
        assert json.loads(await heard.frame())["id"] == 1


# --- backpressure


async def test_a_child_that_does_not_read_makes_send_say_no_until_it_does(
    running: Running, heard: Heard
) -> None:
    patience = ChildPatience(stdin_wait_s=0.3, term_wait_s=0.3, unsent_high_bytes=200_000)
    async with running("never_reads.py", patience=patience) as child:
        await heard.frame()
        block = b'"' + b"x" * 50_000 + b'"'
        accepted = 0
        for _ in range(1000):
            accepted += child.send(block)
            await asyncio.sleep(0)
        assert 0 < accepted < 100
        assert not child.send(block)
        assert child.pid is not None
        os.kill(child.pid, signal.SIGUSR1)
        await until(lambda: child.send(b'"end"', None, "x"))
        assert int(await heard.frame(1)) == accepted


async def test_a_burst_inside_one_turn_is_bounded_too(running: Running, heard: Heard) -> None:
    patience = ChildPatience(stdin_wait_s=0.3, term_wait_s=0.3, unsent_high_bytes=200_000)
    async with running("never_reads.py", patience=patience) as child:
        await heard.frame()
        block = b'"' + b"x" * 50_000 + b'"'
        assert 0 < sum(child.send(block) for _ in range(1000)) < 100


async def test_a_paused_transport_makes_the_child_wait(running: Running, heard: Heard) -> None:
    async with running("flood.py", "300000", "stay") as child:
        child.pause_reading()
        child.pause_reading()
        await until(lambda: "nobody reads" in child.stderr_tail)
        assert len(heard.frames) < 300_000
        assert "all written" not in child.stderr_tail
        child.resume_reading()
        child.resume_reading()
        assert await heard.frame(299_999) == b'{"number": 299999}'


async def test_what_a_dead_child_left_in_the_pipe_waits_for_a_paused_receiver(
    running: Running, heard: Heard
) -> None:
    async with running("crasher.py", "3", "500", "asked") as child:
        child.pause_reading()
        assert child.send(request(1))
        await until(lambda: child.pid is not None and not is_alive(child.pid))
        # The drain time passes several times over; nothing may be cut.
        await asyncio.sleep(BRIEF.drain_s * 3)
        assert (heard.frames, heard.losses) == ([], [])
        child.resume_reading()
        assert (await heard.loss()).code is UPSTREAM_EXITED
        assert heard.frames_at_loss == 500


# --- surroundings


async def test_a_child_gets_its_folder_its_arguments_and_its_environment(
    running: Running, heard: Heard, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_TIME", "C")
    monkeypatch.setenv("LANG", "C")
    env = {"API_KEY": "s3cret=ü", "LANG": "C.UTF-8"}
    async with running("show_surroundings.py", "a b", "", cwd=tmp_path, env=env):
        shown = json.loads(await heard.frame())
    assert shown["cwd"] == str(tmp_path)
    assert shown["args"] == ["a b", ""]
    assert shown["env"]["API_KEY"] == "s3cret=ü"
    assert shown["env"]["LANG"] == "C.UTF-8"
    assert shown["env"]["LC_TIME"] == "C"
    assert shown["env"]["PATH"] == os.environ["PATH"]


async def test_nothing_else_of_our_environment_reaches_a_child(
    running: Running, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CALLGATE_TOKEN", "ours")
    monkeypatch.setenv("DATABASE_URL", "postgres://u:p@h/d")
    monkeypatch.setenv("LC_FUNCTION", "() { :; }; echo harm")
    async with running("show_surroundings.py"):
        shown = json.loads(await heard.frame())["env"]
    assert not {"CALLGATE_TOKEN", "DATABASE_URL", "LC_FUNCTION"} & set(shown)


async def test_a_child_inherits_its_three_pipes_only_and_has_its_own_session(
    running: Running, heard: Heard, tmp_path: Path
) -> None:
    with (tmp_path / "ours").open("w") as ours:
        os.set_inheritable(ours.fileno(), True)
        async with running("hanger.py"):  # so that there is a warden, and another child's pipes
            await heard.frame()
            async with running("show_surroundings.py"):
                shown = json.loads(await heard.frame(1))
    assert shown["open"] == [0, 1, 2]
    assert shown["session"] == shown["pid"]


# --- a start that fails


def executable(path: Path, text: str, mode: int = 0o755) -> str:
    path.write_text(text)
    path.chmod(mode)
    return str(path)


async def failure_of(command: ChildCommand) -> UpstreamError:
    heard = Heard()
    child = ChildTransport(command, heard)
    with pytest.raises(UpstreamError) as caught:
        await child.start()
    assert not child.send(request(1))
    await child.close()
    assert heard.losses == []
    assert "hush" not in f"{caught.value.message}{caught.value.hint}{command!r}"
    return caught.value


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("no-such-program", "no-such-program was not found"),
        ("/no/such/program", "/no/such/program does not exist"),
        ("{tmp}/not_executable", "{tmp}/not_executable may not be executed"),
        ("{tmp}/no_interpreter", "{tmp}/no_interpreter names an interpreter that does not exist"),
        ("{tmp}/no_program", "{tmp}/no_program is not a program"),
        ("nul\0", "its command, arguments or environment are not valid"),
    ],
)
async def test_a_wrong_command_is_explained(command: str, sentence: str, tmp_path: Path) -> None:
    executable(tmp_path / "not_executable", "#!/bin/sh\n", 0o644)
    executable(tmp_path / "no_interpreter", "#!/no/such/interpreter\n")
    executable(tmp_path / "no_program", "just words\n")
    program = command.format(tmp=tmp_path)
    error = await failure_of(ChildCommand("files", program, ("--key=hush",), {"KEY": "hush"}))
    assert error.code is UPSTREAM_EXITED
    assert error.message == f"files could not be started: {sentence.format(tmp=tmp_path)}"
    assert error.hint


async def test_a_wrong_folder_is_explained() -> None:
    error = await failure_of(command_of("echo.py", cwd=Path("/no/such/folder"), env={"KEY": "hush"}))
    assert error.message == "files could not be started: its folder /no/such/folder cannot be entered"
    assert "`cwd`" in error.hint


async def test_a_command_is_looked_for_on_the_path_of_its_own_env(
    running: Running, heard: Heard, tmp_path: Path
) -> None:
    executable(tmp_path / "my-server", "#!/bin/sh\necho '\"here\"'\nread -r line\n")
    async with running(ChildCommand("files", "my-server", env={"PATH": str(tmp_path)})):
        assert await heard.frame() == b'"here"'


# --- the end that the child chose


async def test_an_exit_is_said_once_with_its_code_and_last_words(running: Running, heard: Heard) -> None:
    async with running("crasher.py", "3"):
        error = await heard.loss()
    assert error.code is UPSTREAM_EXITED
    assert error.message == "files exited with code 3"
    assert error.hint == "config file not found: /etc/thing.toml\ngiving up"
    assert len(heard.losses) == 1


async def test_an_exit_is_noticed_on_systems_without_pidfd(
    running: Running, heard: Heard, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "pidfd_open")
    async with running("crasher.py", "3"):
        assert (await heard.loss()).message == "files exited with code 3"


async def test_a_deadly_signal_is_named(running: Running, heard: Heard) -> None:
    async with running("crasher.py", "SIGKILL"):
        assert (await heard.loss()).message == "files was killed by SIGKILL"


async def test_all_that_was_said_before_an_exit_is_received_first(running: Running, heard: Heard) -> None:
    async with running("crasher.py", "0", "20000"):
        assert (await heard.loss()).message == "files exited with code 0"
    assert heard.frames_at_loss == len(heard.frames) == 20_000


async def test_a_dead_child_takes_no_frames(running: Running, heard: Heard) -> None:
    async with running("crasher.py", "1") as child:
        await heard.loss()
        assert not child.send(request(1))


@pytest.mark.parametrize("pipe", ["stdin", "stdout"])
async def test_a_child_that_closes_a_pipe_and_stays_is_stopped(
    running: Running, heard: Heard, pipe: str
) -> None:
    async with running("closes_pipe.py", pipe) as child:
        await heard.frame()

        def said() -> bool:
            child.send(request(1))  # a closed stdin shows at a write only
            return bool(heard.losses)

        await until(said)
    assert heard.losses[0].message == "files closed its stdin or stdout without ending, and was stopped"


async def test_what_an_exited_launcher_left_behind_dies_with_it(running: Running, heard: Heard) -> None:
    async with running("launcher.py", "leave", "stubborn.py"):
        _, inner = json.loads(await heard.frame())
        assert (await heard.loss()).message == "files exited with code 7"
        wait_gone([inner])


# --- the end that we chose


async def test_the_end_of_stdin_is_enough_for_a_polite_child(running: Running, heard: Heard) -> None:
    async with running("hanger.py", patience=ChildPatience(stdin_wait_s=DEADLINE_S)):
        await heard.frame()
    assert heard.losses == []


async def test_what_was_sent_before_a_close_still_arrives(running: Running, heard: Heard) -> None:
    async with running("never_reads.py", patience=ChildPatience(stdin_wait_s=DEADLINE_S)) as child:
        await heard.frame()
        for _ in range(3):
            assert child.send(b'"x"', None, "x")
        assert child.pid is not None
        os.kill(child.pid, signal.SIGUSR1)  # it counts to the end of stdin, prints and leaves
    assert heard.losses == []


async def test_sigterm_gives_a_child_time_to_tidy_up(running: Running, heard: Heard) -> None:
    async with running("ends_at_sigterm.py", patience=PATIENT) as child:
        await heard.frame()
    assert child.stderr_tail == ["tidied up"]


async def test_a_server_below_a_launcher_has_that_time_too(running: Running, heard: Heard) -> None:
    async with running("launcher.py", "wait", "ends_at_sigterm.py", patience=PATIENT) as child:
        await heard.frame(1)
    assert child.stderr_tail == ["tidied up"]


async def test_a_stubborn_child_is_killed_with_its_grandchild(running: Running, heard: Heard) -> None:
    async with running("stubborn.py", "grandchild"):
        pids = json.loads(await heard.frame())
        assert len(pids) == 2
        assert all(map(is_alive, pids))
    wait_gone(pids)
    assert heard.losses == []


async def test_a_process_that_left_the_group_cannot_keep_close_waiting(
    running: Running, heard: Heard
) -> None:
    async with running("launcher.py", "escape", "stubborn.py"):
        _, escaped = json.loads(await heard.frame())
    assert is_alive(escaped)  # the stated limit: a session of its own is not ours to kill
    os.kill(escaped, signal.SIGKILL)


async def test_a_child_blocked_on_a_paused_pipe_still_closes(running: Running, heard: Heard) -> None:
    async with running("flood.py", "300000", patience=ChildPatience(stdin_wait_s=DEADLINE_S)) as child:
        child.pause_reading()
        await until(lambda: "nobody reads" in child.stderr_tail)
    assert "all written" in child.stderr_tail


async def test_nothing_is_received_after_a_close(running: Running, heard: Heard) -> None:
    async with running("flood.py", "1000", "stay") as child:
        closings: list[asyncio.Task[None]] = []

        def close_at_first(frame: bytes) -> None:
            closings.append(asyncio.ensure_future(child.close()))

        heard.when_received = close_at_first
        await heard.frame()
        await until(lambda: all(closing.done() for closing in closings))
        received = len(heard.frames)
        await child.close()
        assert len(heard.frames) == received
    assert heard.losses == []


async def test_close_may_be_called_by_many_and_again(running: Running, heard: Heard) -> None:
    async with running("stubborn.py") as child:
        await heard.frame()
        first = asyncio.ensure_future(child.close())
        await asyncio.sleep(0)
        first.cancel()  # who gives up waiting does not stop the close
        await asyncio.gather(child.close(), child.close())
        await child.close()
        assert first.cancelled()


async def test_close_without_a_start_is_nothing_and_forbids_one(heard: Heard) -> None:
    child = ChildTransport(command_of("echo.py"), heard)
    await child.close()
    with pytest.raises(UpstreamError) as caught:
        await child.start()
    assert caught.value.code is UPSTREAM_UNAVAILABLE


async def test_a_child_closed_while_it_starts_does_not_stay(heard: Heard) -> None:
    child = ChildTransport(command_of("stubborn.py"), heard, patience=BRIEF)
    starting = asyncio.ensure_future(child.start())
    await asyncio.sleep(0)
    await child.close()
    with pytest.raises(UpstreamError):
        await starting
    assert child.pid is not None
    assert not exists(child.pid)
    assert heard.losses == []


async def test_a_cancelled_start_leaves_no_process(heard: Heard) -> None:
    child = ChildTransport(command_of("stubborn.py"), heard, patience=BRIEF)
    starting = asyncio.ensure_future(child.start())
    await asyncio.sleep(0)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    await child.close()
    assert child.pid is None or not exists(child.pid)


# --- stderr


async def test_the_last_lines_of_stderr_are_kept_clean_and_short(running: Running, heard: Heard) -> None:
    async with running("noisy_stderr.py", "20000") as child:
        await heard.frame()
        await until(lambda: child.stderr_tail[-1:] == ["no newline at the end"])
        tail = child.stderr_tail
    assert len(tail) == 50
    assert tail[0].startswith("line 19951 \ufffd yyy")
    assert {len(line) for line in tail[:-1]} == {500}
    assert all(line.isprintable() for line in tail)


def test_a_child_is_a_transport(heard: Heard) -> None:
    transport: Transport = ChildTransport(command_of("echo.py"), heard)
    assert transport.stderr_tail == []
