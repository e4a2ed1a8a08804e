"""`callgate.lock`: it reads back as it was written, and what cannot be trusted is refused."""

import multiprocessing
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from callgate.trust.lock_file import LockFile, LockProblemError, Pin, ServerPins, parse_lock, write_lock

PINS = ServerPins(
    frozenset({"tools", "instructions"}),
    {
        "instructions": {"": Pin("sha256:1", "Use it.")},
        "tools": {
            "add": Pin("sha256:2", "Adds.\n\nTwo numbers. "),
            "odd name": Pin("sha256:3", is_blocked=True),
            "of some": Pin("sha256:4", for_some=True),
        },
    },
)
LOCK = {"calc": PINS}


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=20),
        st.builds(Pin, st.text(max_size=20), st.text(max_size=200), st.booleans(), st.booleans()),
        max_size=5,
    )
)
def test_any_names_and_descriptions_come_back_as_they_were(pins: dict[str, Pin]) -> None:
    lock = {"s": ServerPins(frozenset({"tools"}), {"tools": pins} if pins else {})}
    assert parse_lock(write_lock(lock)) == lock


def test_a_reader_sees_every_character_and_no_mark_of_a_merge() -> None:
    pin = Pin("sha256:1", "a\u200bb\u202e\x1b[0m\n<<<<<<< ours\n=======\n")
    text = write_lock({"s": ServerPins(frozenset(), {"tools": {"t": pin}})})
    assert all(char.isprintable() or char == "\n" for char in text)
    assert parse_lock(text)["s"].pins["tools"]["t"] == pin


def test_one_changed_tool_changes_the_lines_of_that_tool_only() -> None:
    changed = PINS.having("tools", {"add": Pin("sha256:9", "Adds.\n\nThree numbers. ")})
    before, after = write_lock(LOCK).splitlines(), write_lock({"calc": changed}).splitlines()
    assert sum(one != other for one, other in zip(before, after, strict=True)) == 2


@pytest.mark.parametrize(
    ("broken", "words"),
    [
        (write_lock(LOCK)[:200], "is cut"),
        (write_lock(LOCK).rpartition("[servers.calc.tools.add]")[0], "is cut"),
        (write_lock(LOCK).replace("version = 1", "version = 2"), "has version 2"),
        ("<<<<<<< ours\n" + write_lock(LOCK), "marks of a merge"),
        (write_lock(LOCK).replace("digest", "digests"), "none of ours"),
        (write_lock(LOCK).replace("blocked = true", "blocked = 1"), "none of ours"),
        (write_lock(LOCK).replace("for_some = true", "for_some = 1"), "none of ours"),
        (write_lock(LOCK).replace('seen = ["instructions", "tools"]', ""), "none of ours"),
        (write_lock(LOCK).replace('seen = ["instructions", "tools"]', 'seen = "tools"'), "none of ours"),
        (write_lock(LOCK).replace('seen = ["instructions",', 'seen = ["other",'), "none of ours"),
        (write_lock(LOCK).replace("[servers.calc]\n", "[servers.calc]\n[servers.calc]\n"), "cannot be read"),
        ("\0", "is cut"),
    ],
)
def test_a_lock_that_cannot_be_trusted_is_refused_and_left_as_it_is(
    tmp_path: Path, broken: str, words: str
) -> None:
    file = LockFile(tmp_path / "callgate.lock")
    file.path.write_text(broken)
    with pytest.raises(LockProblemError, match=words):
        file.read()
    with pytest.raises(LockProblemError, match=words):
        file.change(lambda lock: {**lock, "more": PINS})
    assert file.path.read_text() == broken


def test_a_link_stays_one_and_the_file_behind_it_is_written(tmp_path: Path) -> None:
    (tmp_path / "repository").mkdir()
    kept = tmp_path / "repository" / "callgate.lock"
    link = tmp_path / "callgate.lock"
    link.symlink_to(kept)
    LockFile(link).change(lambda lock: LOCK)
    assert link.is_symlink()
    assert LockFile(kept).read() == LOCK


def test_what_is_no_file_is_not_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "callgate.lock")  # who reads it waits for ever
    with pytest.raises(LockProblemError, match="is not a file"):
        LockFile(tmp_path / "callgate.lock").read()


def _add(path: Path, number: int) -> None:
    LockFile(path).change(lambda lock: {**lock, f"server{number}": PINS})


def test_several_processes_do_not_lose_each_others_entries(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    context = multiprocessing.get_context("fork")
    workers = [context.Process(target=_add, args=(path, number)) for number in range(12)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert set(LockFile(path).read()) == {f"server{number}" for number in range(12)}
    assert [one.name for one in tmp_path.iterdir()] == ["callgate.lock"]


def test_a_folder_in_which_nobody_can_write_is_a_problem_with_a_sentence() -> None:
    lock = LockFile(Path("/proc/callgate.lock"))  # not even root can make a file there
    assert lock.read() == {}
    with pytest.raises(LockProblemError, match=r"^/proc/callgate\.lock cannot be written \("):
        lock.change(lambda before: {**before, "one": ServerPins(frozenset({"tools"}))})
