"""Who is alive, by the lock that ends with its process; and a directory that cannot be used."""

import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from replicas.test_directory import ME, ROW

from callgate.replicas.directory import DirectoryAwayError
from callgate.replicas.file_directory import FileDirectory, prepare

OTHER = """
import asyncio, sys
from dataclasses import replace
from pathlib import Path
from replicas.test_directory import ME
from callgate.replicas.file_directory import FileDirectory

async def main():
    await FileDirectory(Path(sys.argv[1]), "BBBBBBBB").beat(replace(ME, gateway="BBBBBBBB"))
    print("there", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    prepare(tmp_path / "workers")
    return tmp_path / "workers"


async def test_who_is_killed_has_left_at_once_and_who_is_only_stopped_has_not(folder: Path) -> None:
    directory = FileDirectory(folder, "AAAAAAAA")
    path = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    with subprocess.Popen(
        [sys.executable, "-c", OTHER, str(folder)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | {"PYTHONPATH": path},
    ) as other:  # fmt: skip
        assert other.stdout is not None
        assert other.stdout.readline() == b"there\n"

        async def state() -> str:
            members = {member.said.gateway: member for member in await directory.beat(ME)}
            assert members["AAAAAAAA"].said.state == "serving"
            return members["BBBBBBBB"].said.state

        other.send_signal(signal.SIGSTOP)
        assert await state() == "serving"
        other.kill()
        other.wait()
        assert await state() == "left"
        assert await state() == "left"
    await directory.close()
    assert not list(folder.glob("*.alive"))


async def test_the_lead_is_who_took_it_last(folder: Path) -> None:
    one, other = FileDirectory(folder, "AAAAAAAA"), FileDirectory(folder, "BBBBBBBB")
    assert await one.lead() is None
    for directory, name in ((one, "AAAAAAAA"), (other, "BBBBBBBB")):
        await directory.take_lead()
        assert await one.lead() == await other.lead() == name
    await one.beat(ME)
    await one.report("AAAAAAAA", "fine")
    await other.beat(replace(ME, gateway="BBBBBBBB"))
    assert await other.reports() == {"AAAAAAAA": "fine"}
    await one.close()
    assert await other.reports() == {}
    await other.close()


async def test_a_directory_that_cannot_be_read_is_away_and_the_next_start_begins_it_anew(
    folder: Path,
) -> None:
    file = folder / "directory.db"
    file.write_bytes(b"no database at all" * 100)
    directory = FileDirectory(folder, "AAAAAAAA")
    with pytest.raises(DirectoryAwayError, match="not a database"):
        await directory.put([ROW])
    await directory.close()
    prepare(folder)
    assert file.stat().st_mode & 0o777 == 0o600
    directory = FileDirectory(folder, "AAAAAAAA")
    await directory.put([ROW])
    assert await directory.home_of("h1") == ROW
    await directory.close()
    with pytest.raises(DirectoryAwayError):
        await directory.home_of("h1")
