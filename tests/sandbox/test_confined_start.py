"""How a confined program is started: what it reaches, its environment, and what is refused before it runs."""

import asyncio
import re
import sys
from pathlib import Path

import pytest
from sandbox.stage import HERE, hostile_stage
from upstreams.heard import DEADLINE_S, Heard
from upstreams.processes import is_alive, wait_gone

from callgate.model.error_codes import SETUP_SANDBOX, UPSTREAM_EXITED
from callgate.model.errors import ServerSetupError, UpstreamError
from callgate.sandbox.become import VARIABLE
from callgate.sandbox.confine import Sandbox, failure_of
from callgate.sandbox.kernel import KernelAbilities, kernel_abilities
from callgate.sandbox.reach import Guarded, Wishes, grants_of
from callgate.sandbox.syscall_numbers import MACHINES
from callgate.upstreams.child.child import ChildTransport
from callgate.upstreams.child.command import ChildCommand, environment_of
from callgate.upstreams.child.warden import Warden

needs_landlock = pytest.mark.skipif(bool(kernel_abilities().obstacle), reason=kernel_abilities().obstacle)
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


def curious(deed: str, path: Path) -> list[str]:
    return [sys.executable, "-I", "-S", str(HERE / "curious.py"), deed, str(path)]


async def refusal(sandbox: Sandbox, command: str = "sh", cwd: Path | None = None) -> ServerSetupError:
    child = ChildTransport(ChildCommand("files", command, cwd=cwd, sandbox=sandbox), Heard())
    with pytest.raises(ServerSetupError) as raised:
        await child.start()
    await child.close()
    assert raised.value.code is SETUP_SANDBOX
    return raised.value


# ---- what it reaches


@needs_landlock
async def test_it_reads_and_changes_what_writes_names(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        work = stage.folder / "work"
        assert await stage.run(curious("read", work / "readme"), stage.sandbox()) == "hello"
        assert await stage.run(curious("make", work / "new"), stage.sandbox()) == 1
        assert (work / "new").read_text() == "x"


@needs_landlock
async def test_it_reads_what_its_arguments_and_reads_name_and_changes_nothing_there(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        theirs = stage.folder / "outside" / "theirs"
        assert await stage.run(curious("read", theirs), stage.sandbox()) == "theirs"
        assert await stage.run(curious("change", theirs), stage.sandbox()) == "Permission denied"
        (stage.folder / "link").symlink_to(theirs.parent)
        reads = (stage.folder / "link",)
        assert await stage.run(curious("make", theirs.parent / "new"), stage.sandbox()) == "Permission denied"
        assert await stage.run(curious("list", theirs.parent), stage.sandbox(reads=reads)) == [
            "spare",
            "theirs",
        ]


@needs_landlock
async def test_it_starts_in_a_folder_of_its_own_with_nothing_of_ours_in_its_environment(
    tmp_path: Path,
) -> None:
    with hostile_stage(tmp_path) as stage:
        own = stage.folder / "state/sandbox/files"
        told = await stage.run(curious("surroundings", Path("-")), stage.sandbox())
        cwd, environment = told
        assert cwd == str(own / "home")
        assert environment["HOME"] == str(own / "home")
        assert environment["TMPDIR"] == str(own / "tmp")
        assert environment["npm_config_cache"].startswith(str(own / "cache"))
        assert not any(name.startswith("XDG_") and name != "XDG_CACHE_HOME" for name in environment)
        assert not any(name.startswith(VARIABLE) for name in environment)
        assert (own / "tmp").stat().st_mode & 0o777 == 0o700


def test_what_the_operator_wrote_under_env_wins(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        command = ChildCommand("files", "sh", env={"HOME": "/elsewhere"}, sandbox=stage.sandbox())
        assert environment_of(command, {"HOME": "/root", "TOKEN": "x"})["HOME"] == "/elsewhere"


@needs_landlock
async def test_what_env_says_to_the_loader_holds_for_the_program_alone(tmp_path: Path) -> None:
    # A library that an earlier start left in a writable folder would be loaded before anything is confined.
    with hostile_stage(tmp_path) as stage:
        outside = stage.folder / "outside"
        env = {"LD_DEBUG": "files", "LD_DEBUG_OUTPUT": str(outside / "loader")}
        command = ChildCommand("files", "sh", ("-c", "exit 3"), env, sandbox=stage.sandbox())
        child = ChildTransport(command, Heard())
        await child.start()
        async with asyncio.timeout(DEADLINE_S):
            await child.exited.wait()
        await child.close()
        assert sorted(path.name for path in outside.iterdir()) == ["spare", "theirs"]


@needs_landlock
async def test_a_link_that_an_earlier_start_left_in_its_folder_opens_nothing(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        work = stage.folder / "work"
        (work / "sub").symlink_to(stage.folder / "home")
        reads = (work / "sub", work / "sub" / ".ssh")
        assert (
            await stage.run(curious("list", work / "sub"), stage.sandbox(reads=reads)) == "Permission denied"
        )


@needs_landlock
async def test_a_link_in_one_of_two_folders_to_write_to_opens_nothing(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        work, keys = stage.folder / "work", stage.folder / "home/.ssh"
        (work / "sub").symlink_to(keys)
        (stage.folder / "by-link").symlink_to(work / "sub")
        for writes in ((work, work / "sub"), (work / "sub", work), (stage.folder / "by-link", work)):
            sandbox = stage.sandbox(writes=writes)
            assert await stage.run(curious("list", work / "sub"), sandbox) == "Permission denied", writes


@needs_landlock
async def test_a_link_to_itself_in_one_of_two_folders_to_write_to_is_as_good_as_none(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        work = stage.folder / "work"
        (work / "sub").symlink_to(work / "sub")
        sandbox = stage.sandbox(writes=(work, work / "sub"))
        program = [*curious("read", work / "readme"), str(work / "sub")]
        assert await stage.run(program, sandbox) == await stage.run(program, stage.sandbox())


@needs_landlock
@pytest.mark.parametrize("key", ["reads", "args"])
async def test_a_link_of_the_operator_into_a_writable_folder_opens_nothing_behind_it(
    tmp_path: Path, key: str
) -> None:
    with hostile_stage(tmp_path) as stage:
        keys, link = stage.folder / "home/.ssh", stage.folder / "operators-link"
        link.symlink_to(stage.folder / "work/data")
        (stage.folder / "work/data").symlink_to(keys)
        more = {"reads": (link,)} if key == "reads" else {}
        place = link if key == "args" else stage.folder / "work/data"
        assert await stage.run(curious("list", place), stage.sandbox(**more)) == "Permission denied"


@needs_landlock
async def test_a_script_in_its_folder_does_not_open_the_project_that_it_leads_to(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        project = stage.folder / "home/project"
        project.mkdir()
        (project / "manage.py").write_text("")
        (project / ".env").write_text("a secret")
        (stage.folder / "work/settings.py").symlink_to(project / "manage.py")
        (stage.folder / "work/env").symlink_to(project / ".env")
        program = [*curious("read", stage.folder / "work/env"), str(stage.folder / "work/settings.py")]
        assert await stage.run(program, stage.sandbox()) == "Permission denied"


@needs_landlock
@pytest.mark.parametrize("how", ["its first line", "a link on PATH"])
async def test_a_program_in_its_folder_does_not_open_what_it_names(tmp_path: Path, how: str) -> None:
    with hostile_stage(tmp_path) as stage:
        tools, bin_ = stage.folder / "home/mine/tools", stage.folder / "work/bin"
        (tools / "bin").mkdir(parents=True)
        bin_.mkdir()
        (tools / "secret").write_text("a secret")
        (tools / "bin/node").symlink_to("/bin/sh") if how == "its first line" else _program(
            tools / "bin/node", "#!/bin/sh\n"
        )
        if how == "a link on PATH":
            (bin_ / "node").symlink_to(tools / "bin/node")
            program = curious("read", stage.folder / "work/readme")
        else:
            _program(bin_ / "run", f"#!{tools}/bin/node\n")
            program = [str(bin_ / "run")]
        work, own = stage.folder / "work", stage.folder / "state/sandbox/files"
        own.mkdir(parents=True)
        wishes = Wishes(Path(program[0]), tuple(program[1:]), work, True, own, (), (work,))
        granted = [Path(path) for path, _ in grants_of(wishes, stage.guarded, f"{bin_}:/usr/bin")]
        assert not [path for path in granted if path.is_relative_to(tools)]


def _program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


# ---- what is refused before anything runs


@needs_landlock
@pytest.mark.parametrize("key", ["reads", "writes"])
@pytest.mark.parametrize("place", [".", "home", "state", "state/record", "file", "/"])
async def test_a_folder_with_something_of_ours_or_the_home_is_refused(
    tmp_path: Path, key: str, place: str
) -> None:
    with hostile_stage(tmp_path) as stage:
        (stage.folder / "state/record").mkdir()
        error = await refusal(stage.sandbox(**{key: (stage.folder / place,)}))
    assert f"of its {key}" in error.message
    assert "Callgate's own" in error.message or "home folder" in error.message


@needs_landlock
@pytest.mark.parametrize("place", ["code", "code/inner"])
async def test_our_own_code_may_be_read_and_not_written_to(tmp_path: Path, place: str) -> None:
    with hostile_stage(tmp_path) as stage:
        code = stage.folder / "code"
        error = await refusal(stage.sandbox(writes=(stage.folder / place,)))
        assert error.message.endswith(f"{place} of its writes {kept(place)} {code}, which is Callgate's own")
        file = code / "inner/callgate.py"
        assert await stage.run(curious("read", file), stage.sandbox(reads=(code,))) == "code of ours"


def kept(place: str) -> str:
    return "is inside" if "/" in place else "holds"


@needs_landlock
async def test_a_file_of_ours_that_every_program_reads_is_refused(tmp_path: Path) -> None:
    file = Path("/usr/local/etc/callgate.toml")
    guarded = Guarded(tmp_path / "state", tmp_path / "home", (file,))
    error = await refusal(Sandbox(tmp_path / "state/sandbox/files", guarded))
    assert f"{file}, which is Callgate's own, is inside /usr, which every program reads" in error.message


@needs_landlock
async def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        error = await refusal(stage.sandbox(writes=(tmp_path / "nowhere",)))
    assert f"{tmp_path}/nowhere of its writes does not exist" in error.message


@needs_landlock
async def test_a_program_that_is_not_there_is_named_as_without_a_sandbox(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        child = ChildTransport(ChildCommand("files", "no-such-program", sandbox=stage.sandbox()), Heard())
        with pytest.raises(UpstreamError, match="no-such-program was not found") as raised:
            await child.start()
        assert raised.value.code is UPSTREAM_EXITED


def test_a_wrapper_that_failed_is_told_from_a_program_that_failed() -> None:
    failed = failure_of("files", 125, ["callgate sandbox: Landlock failed: Operation not permitted"])
    assert failed is not None
    assert "Landlock failed: Operation not permitted" in failed.message
    assert failure_of("files", 125, ["something else"]) is None
    assert failure_of("files", 1, ["callgate sandbox: x"]) is None


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (KernelAbilities("darwin", "arm64", 0, has_seccomp=False), "needs Linux, and this is darwin"),
        (KernelAbilities("linux", "riscv64", 7, has_seccomp=True), "this machine is riscv64"),
        (KernelAbilities("linux", "x86_64", 0, has_seccomp=True), "has no Landlock"),
        (KernelAbilities("linux", "x86_64", 2, has_seccomp=True), "has Landlock 2; a sandbox needs 3"),
        (KernelAbilities("linux", "aarch64", 7, has_seccomp=False), "has no seccomp filters"),
    ],
)
def test_a_system_that_cannot_confine_says_why(kernel: KernelAbilities, words: str) -> None:
    assert words in kernel.obstacle


def test_an_older_landlock_says_what_it_does_not_hold() -> None:
    assert "signals" in KernelAbilities("linux", "x86_64", 5, has_seccomp=True).gaps
    assert KernelAbilities("linux", "x86_64", 6, has_seccomp=True).gaps == ""


# ---- its end


@needs_landlock
async def test_the_warden_ends_a_confined_program_and_its_children(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        heard, warden = Heard(), Warden()
        program, *arguments = curious("children", Path("-"))
        command = ChildCommand("files", program, tuple(arguments), sandbox=stage.sandbox())
        child = ChildTransport(command, heard, warden=warden)
        await child.start()
        async with asyncio.timeout(DEADLINE_S):
            (grandchild,) = map(int, re.findall(rb"\d+", await heard.frame()))
        assert child.pid is not None
        assert is_alive(grandchild)
        warden.close()
        wait_gone([child.pid, grandchild])
        await child.close()


@needs_landlock
async def test_what_it_says_on_stderr_is_kept(tmp_path: Path) -> None:
    with hostile_stage(tmp_path) as stage:
        heard = Heard()
        child = ChildTransport(
            ChildCommand("files", "sh", ("-c", "echo it broke >&2; exit 3"), sandbox=stage.sandbox()), heard
        )
        await child.start()
        async with asyncio.timeout(DEADLINE_S):
            await child.exited.wait()
        await child.close()
        assert child.stderr_tail == ["it broke"]


# ---- numbers


@pytest.mark.parametrize("machine", MACHINES)
def test_the_numbers_of_system_calls_are_the_kernels(machine: str) -> None:
    if not HEADERS[machine].exists():
        pytest.skip("the kernel's headers are not installed")
    text = HEADERS[machine].read_text()
    known = {name: int(number) for name, number in re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", text)}
    ours = MACHINES[machine].numbers
    assert {name: number for name, number in ours.items() if known.get(name, number) != number} == {}
    assert len([name for name in ours if name in known]) > 70
    assert MACHINES[machine].seccomp == known["seccomp"]
    assert MACHINES[machine].capset == known["capset"]
