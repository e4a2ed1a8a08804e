"""The journal: what was written whole is read back, whatever happens to the end of the file."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from examples import examples
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from recorder.full_disk import files_end_at

from callgate.recorder.journal.frames import EVENTS, Frame, frame
from callgate.recorder.journal.journal import (
    JournalWriter,
    is_abandoned,
    is_read_to_its_end,
    read_frames,
    segments,
    writer_of,
)


def row(number: int) -> bytearray:
    rows_json = b'[{"sql":"SELECT %d","id":"%b"}]' % (number, b"x" * 300)
    return frame(EVENTS, rows_json, 1, [b"request %d" % number, b""])


def statements(path: Path) -> list[str]:
    return [json.loads(found.rows_json)[0]["sql"] for found in read_frames(path, 0)]


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    writer = JournalWriter(tmp_path)
    writer.append([row(number) for number in range(5)])
    writer.close()
    return writer.path


def test_rows_come_back_as_they_were_and_from_any_offset(journal: Path) -> None:
    frames = list(read_frames(journal, 0))
    assert statements(journal) == [f"SELECT {n}" for n in range(5)]
    assert len(list(read_frames(journal, frames[2].end))) == 2


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(share=st.floats(0, 1))
def test_a_cut_loses_only_the_frames_it_cuts(journal: Path, share: float) -> None:
    whole = journal.read_bytes()
    ends = [found.end for found in read_frames(journal, 0)]
    cut = int(len(whole) * share)
    copy = journal.with_suffix(".cut")
    copy.write_bytes(whole[:cut])
    assert len(list(read_frames(copy, 0))) == sum(end <= cut for end in ends)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60))
@given(share=st.floats(0, 1, exclude_max=True))
def test_a_flipped_byte_never_yields_a_wrong_row(journal: Path, share: float) -> None:
    whole = bytearray(journal.read_bytes())
    whole[int(len(whole) * share)] ^= 0xFF
    copy = journal.with_suffix(".flipped")
    copy.write_bytes(whole)
    found: list[Frame] = list(read_frames(copy, 0))
    assert found == list(read_frames(journal, 0))[: len(found)]


def test_a_segment_is_abandoned_once_its_writer_is_gone(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    assert not is_abandoned(writer.path)
    writer.close()
    assert is_abandoned(writer.path)


def test_a_full_segment_is_followed_by_a_new_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("callgate.recorder.journal.journal.SEGMENT_BYTES", 2000)
    writer = JournalWriter(tmp_path)
    for number in range(10):
        writer.append([row(number)])
    writer.close()
    assert len(segments(tmp_path)) > 1
    assert {writer_of(path) for path in segments(tmp_path)} == {writer.writer_id}
    assert sum(len(list(read_frames(path, 0))) for path in segments(tmp_path)) == 10


def test_a_write_that_fails_half_way_hides_nothing_that_follows(tmp_path: Path) -> None:
    writer = JournalWriter(tmp_path)
    writer.append([row(0)])
    with files_end_at(writer.path.stat().st_size + 100), pytest.raises(OSError):
        writer.append([row(1), row(2)])
    writer.append([row(3)])
    writer.close()
    assert statements(writer.path) == ["SELECT 0", "SELECT 3"]
    assert is_read_to_its_end(writer.path, list(read_frames(writer.path, 0))[-1].end)


def test_a_segment_that_cannot_be_begun_leaves_nothing_and_the_old_one_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer = JournalWriter(tmp_path)
    writer.append([row(0)])
    with monkeypatch.context() as patched, files_end_at(5):
        patched.setattr("callgate.recorder.journal.journal.SEGMENT_BYTES", 100)
        with pytest.raises(OSError):
            writer.append([row(1)])
        with pytest.raises(OSError):
            JournalWriter(tmp_path)
    assert list(tmp_path.iterdir()) == [writer.path]
    writer.append([row(2)])
    writer.close()
    assert statements(writer.path) == ["SELECT 0", "SELECT 2"]


# Looks into the folder before each step that the interpreter reports of the writer. A process of its own,
# since an audit hook stays for good.
_ONLOOKER = """
import sys
from pathlib import Path
from callgate.recorder.journal.journal import JournalWriter, is_abandoned, segments

folder, is_looking, steps, abandoned = Path(sys.argv[1]), False, [], []

def look(step, arguments):
    global is_looking
    if is_looking or step not in ("open", "fcntl.flock", "os.rename"):
        return
    is_looking = True  # looking takes such steps itself
    steps.append(step)
    abandoned.extend(f"before {step}" for path in segments(folder) if is_abandoned(path))
    is_looking = False

sys.addaudithook(look)
writer = JournalWriter(folder)
is_looking = True
assert segments(folder) == [writer.path]
assert {"open", "fcntl.flock"} <= set(steps), steps
assert not abandoned, abandoned
"""


def test_a_new_segment_is_never_seen_without_its_lock(tmp_path: Path) -> None:
    seen = subprocess.run([sys.executable, "-c", _ONLOOKER, str(tmp_path)], capture_output=True, text=True)
    assert (seen.returncode, seen.stderr) == (0, "")
