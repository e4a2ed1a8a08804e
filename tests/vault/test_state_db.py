"""`state.db`: kept for this user, brought up to date by one of many processes, and never misread."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

from callgate.model.error_codes import SETUP_STATE_DB, SETUP_STATE_FOLDER, SETUP_STATE_NEWER
from callgate.model.errors import SetupError
from callgate.vault.state_db import STATE_DB, VERSION, Definition, StateDb

_WRITER = """
import sys
from pathlib import Path
from callgate.vault.state_db import StateDb
sys.stdin.readline()
state = StateDb(Path(sys.argv[1]))
for number in range(20):
    state.put_secret(f"{sys.argv[2]}-{number}", b"sealed")
"""


@pytest.fixture
def state(tmp_path: Path) -> StateDb:
    folder = tmp_path / "state"
    folder.mkdir(mode=0o700)
    return StateDb(folder)


def test_what_was_put_is_there_until_it_is_removed(state: StateDb) -> None:
    assert state.secret("shop") is None
    state.put_secret("shop", b"one")
    state.put_secret("shop", b"two")
    state.put_secret("other", b"three")
    found = state.secret("shop")
    assert found is not None
    assert found.sealed == b"two"
    assert [one.name for one in state.secrets()] == ["other", "shop"]
    assert state.remove_secret("shop")
    assert not state.remove_secret("shop")
    assert state.secret("shop") is None


def test_nothing_is_removed_where_nothing_was_ever_kept(tmp_path: Path) -> None:
    assert not StateDb(tmp_path / "never").remove_secret("shop")
    assert not (tmp_path / "never").exists()


def test_every_form_of_a_definition_is_kept_until_it_is_forgotten(state: StateDb) -> None:
    old, new = (Definition("git", "tool", "log", digest, digest.encode()) for digest in ("old", "new"))
    elsewhere = Definition("web", "tool", "log", "old", b"{}")
    state.put_definitions([old])
    state.put_definitions([new, elsewhere])
    assert {one.digest for one in state.definitions("git")} == {"old", "new"}
    found = state.definition("git", "tool", "log", "old")
    assert found is not None
    assert (found.definition, found.seen_at > 0) == (b"old", True)
    state.forget_definitions("git", keep=["new"])
    assert [one.digest for one in state.definitions("git")] == ["new"]
    assert len(state.definitions("web")) == 1


def test_reading_makes_no_file(state: StateDb) -> None:
    assert state.secrets() == []
    assert not state.path.exists()


def test_the_file_and_what_sqlite_puts_beside_it_are_for_this_user_alone(state: StateDb) -> None:
    before = os.umask(0)
    try:
        state.put_secret("shop", b"x")
        with closing(sqlite3.connect(state.path)) as held:
            held.execute("SELECT * FROM secrets").fetchall()
            state.put_secret("shop", b"y")
            modes = {one.name: stat.S_IMODE(one.stat().st_mode) for one in state.path.parent.iterdir()}
    finally:
        os.umask(before)
    assert set(modes) == {STATE_DB, f"{STATE_DB}-wal", f"{STATE_DB}-shm"}
    assert set(modes.values()) == {0o600}


def test_a_file_that_others_could_read_is_closed(state: StateDb) -> None:
    state.put_secret("shop", b"x")
    state.path.chmod(0o644)
    state.secrets()
    assert stat.S_IMODE(state.path.stat().st_mode) == 0o600


def test_a_folder_that_others_may_write_to_is_refused(state: StateDb) -> None:
    state.path.parent.chmod(0o777)
    with pytest.raises(SetupError, match="may be written to by other users") as refused:
        state.put_secret("shop", b"x")
    assert refused.value.code is SETUP_STATE_FOLDER


def test_a_link_in_its_place_is_refused(state: StateDb, tmp_path: Path) -> None:
    target = tmp_path / "elsewhere.db"
    target.touch()
    state.path.symlink_to(target)
    with pytest.raises(SetupError, match="symbolic link"):
        state.put_secret("shop", b"x")
    assert target.read_bytes() == b""


def test_the_first_version_is_read_and_brought_up_to_date(state: StateDb) -> None:
    """As written by the gateway whose state.db had version 1."""
    shutil.copy(Path(__file__).parent / "versions" / "state-1.db", state.path)
    assert [(one.name, one.sealed) for one in state.secrets()] == [("shop", b"not a real secret")]
    assert [(one.name, one.definition) for one in state.definitions("one")] == [("look", b'{"name":"look"}')]
    state.put_secret("other", b"y")
    with closing(sqlite3.connect(state.path)) as found:
        assert found.execute("PRAGMA user_version").fetchall() == [(VERSION,)]


def test_a_newer_version_is_refused_and_stays_as_it_is(state: StateDb) -> None:
    state.put_secret("shop", b"x")
    with closing(sqlite3.connect(state.path)) as newer:
        newer.execute(f"PRAGMA user_version = {VERSION + 1}")
    for use in (state.secrets, lambda: state.put_secret("shop", b"y")):
        with pytest.raises(SetupError, match="newer Callgate") as refused:
            use()
        assert refused.value.code is SETUP_STATE_NEWER
    with closing(sqlite3.connect(state.path)) as newer:
        assert newer.execute("SELECT sealed FROM secrets").fetchall() == [(b"x",)]


@pytest.mark.parametrize("content", [b"no database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_what_is_no_database_is_named_and_left_alone(state: StateDb, content: bytes) -> None:
    state.path.write_bytes(content)
    with pytest.raises(SetupError, match=r"state\.db cannot be used") as refused:
        state.put_secret("shop", b"x")
    assert refused.value.code is SETUP_STATE_DB
    assert state.path.read_bytes() == content


def test_many_processes_make_and_fill_one_file(state: StateDb) -> None:
    arguments = [sys.executable, "-c", _WRITER, str(state.path.parent)]
    writers = [
        subprocess.Popen([*arguments, str(number)], stdin=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in range(8)
    ]
    for writer in writers:  # at once, so that all of them find no file
        assert writer.stdin is not None
        writer.stdin.write("go\n")
        writer.stdin.flush()
    assert [writer.communicate()[1] for writer in writers] == [""] * 8
    assert len(state.secrets()) == 8 * 20
