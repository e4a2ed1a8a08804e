"""Changes to callgate.toml: only what was asked for changes, and never half."""

import os
import stat
from difflib import ndiff
from pathlib import Path

import pytest

from callgate.config.edit_file import FileEdit, edit_file
from callgate.config.problem import ConfigProblems
from callgate.model.errors import CallerError, SetupError
from callgate.model.identity import token_hash_of

ODD = """\
# ours
version=1   # the first

[record]
  keep = "30d"    # a month
[mcpServers.files]
command = "cat"
args = [ "-u",   # unbuffered
]
env = {A="1",  B = "2"}
[server]
tool_search = true
"""
ENTRY = {"token_hash": token_hash_of("9f3c27d1a8e64b05"), "role": "call"}


def changes(before: str, after: str) -> list[str]:
    lines = ndiff(before.splitlines(keepends=True), after.splitlines(keepends=True))
    return [line for line in lines if line[0] in "+-"]


def edit_of(path: Path, text: str = ODD, line_end: str = "\n") -> FileEdit:
    path.write_bytes(text.replace("\n", line_end).encode())
    return edit_file(path, {})


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_only_the_touched_lines_differ_and_taking_it_back_leaves_no_trace(
    tmp_path: Path, line_end: str
) -> None:
    path = tmp_path / "callgate.toml"
    edit = edit_of(path, line_end=line_end)
    before = path.read_bytes().decode()
    edit.set(("principals", "nightly"), ENTRY)
    edit.write()
    after = path.read_bytes().decode()
    added = changes(before, after)
    assert all(line.startswith("+") for line in added)
    assert {line[2:].strip() for line in added} - {""} == {
        "[principals.nightly]", f'token_hash = "{ENTRY["token_hash"]}"', 'role = "call"'
    }  # fmt: skip
    assert all(line.endswith(line_end) for line in after.splitlines(keepends=True))
    assert (tmp_path / "callgate.toml.bak").read_bytes().decode() == before
    again = edit_file(path, {})
    again.remove(("principals", "nightly"))
    again.write()
    assert path.read_bytes().decode().rstrip() == before.rstrip()


def test_thirty_changes_by_turns_keep_the_rest(tmp_path: Path) -> None:
    path = tmp_path / "callgate.toml"
    edit_of(path)
    for at in range(30):
        edit = edit_file(path, {})
        place = ("principals", f"p{at % 7}")
        if edit.has(place):
            edit.remove(place)
        else:
            edit.set(place, {"token_hash": token_hash_of(f"token {at}"), "role": "watch"})
        edit.write()
    removed = [line for line in changes(ODD, path.read_text()) if line.startswith("-")]
    assert removed == []


def test_a_change_that_brings_a_problem_is_not_made(tmp_path: Path) -> None:
    path = tmp_path / "callgate.toml"
    edit = edit_of(path)
    edit.set(("principals", "a"), {"role": "admin"})
    with pytest.raises(ConfigProblems):
        edit.write()
    assert path.read_text() == ODD
    assert [one.name for one in tmp_path.iterdir()] == ["callgate.toml"], "nothing is left beside it"


def test_a_problem_that_was_there_before_does_not_hinder(tmp_path: Path) -> None:
    path = tmp_path / "callgate.toml"
    edit = edit_of(path, ODD.replace("tool_search = true", 'state_key = "${NOT_SET_HERE}"'))
    edit.set(("principals", "a"), ENTRY)
    edit.write()
    assert "[principals.a]" in path.read_text()


def test_who_comes_second_is_told(tmp_path: Path) -> None:
    path = tmp_path / "callgate.toml"
    first, second = edit_of(path), edit_file(path, {})
    first.set(("principals", "a"), ENTRY)
    first.write()
    second.set(("principals", "b"), {**ENTRY, "token_hash": token_hash_of("other")})
    with pytest.raises(CallerError) as stale:
        second.write()
    assert stale.value.code.code == "caller.stale"
    assert "principals.b" not in path.read_text()


def test_rights_and_a_link_stay(tmp_path: Path) -> None:
    real = tmp_path / "real.toml"
    edit_of(real)
    real.chmod(0o640)
    link = tmp_path / "callgate.toml"
    link.symlink_to(real)
    edit = edit_file(link, {})
    edit.set(("principals", "a"), ENTRY)
    edit.write()
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o640
    assert "[principals.a]" in real.read_text()


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    edit = edit_of(tmp_path / "callgate.toml")
    edit.set(("principals", "a"), ENTRY)

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SetupError) as locked:
        edit.write()
    assert locked.value.code.code == "setup.config_locked"
    assert (tmp_path / "callgate.toml").read_text() == ODD
    assert len(list(tmp_path.iterdir())) == 1


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "mcp.json"
    other.write_text('{"mcpServers": {}}')
    for path in (other, None):
        with pytest.raises(SetupError):
            edit_file(path, {"HOME": str(tmp_path)})
