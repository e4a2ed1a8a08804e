"""What one process knows of a lock that others write, too."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from callgate.model.trust import TrustItem
from callgate.trust.known_lock import KnownLock
from callgate.trust.lock_file import Lock, LockFile, LockState, Pin, ServerPins

ADD = TrustItem("tool", "add", "new", False, "sha256:1", now=b'{"name":"add","description":"Adds."}')


def _blocking(lock: Lock) -> Lock:
    return {**lock, "one": lock["one"].having("tools", {"add": Pin("sha256:1", "Adds.", is_blocked=True)})}


class _ThenBlocked(LockFile):
    """Another process has its turn as soon as we are done."""

    def change(self, change: Callable[[Lock], Lock]) -> tuple[Lock, LockState]:
        done = super().change(change)
        LockFile(self.path).change(_blocking)
        return done


def _known(file: LockFile) -> KnownLock:
    return KnownLock(file, lambda _, text: text)


def test_what_another_process_writes_right_after_us_is_seen(tmp_path: Path) -> None:
    known = _known(_ThenBlocked(tmp_path / "callgate.lock"))
    known.set_first("one", "tools", [ADD], for_some=False)
    version = known.version
    known.refresh()
    pin = known.pins("one").get("tools", "add")
    assert pin is not None
    assert pin.is_blocked
    assert known.version > version


def test_what_another_process_wrote_before_us_counts_as_another_word(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    known = _known(LockFile(path))
    known.set_first("one", "tools", [ADD], for_some=False)
    LockFile(path).change(_blocking)
    version = known.version
    known.set_first("two", "tools", [replace(ADD, name="sub")], for_some=False)
    pin = known.pins("one").get("tools", "add")
    assert pin is not None
    assert pin.is_blocked
    assert known.version > version, "lists are judged again"


def test_first_sight_leaves_what_was_accepted_before(tmp_path: Path) -> None:
    path = tmp_path / "callgate.lock"
    accepted = Pin("sha256:9", "Asks.")
    pins = ServerPins(frozenset({"tools"}), {"tools": {"add": accepted}})
    LockFile(path).change(lambda lock: {**lock, "one": pins})
    known = _known(LockFile(path))
    known.set_first("one", "tools", [ADD, replace(ADD, name="ask")], for_some=True)
    assert known.pins("one").get("tools", "add") == accepted
    assert known.pins("one").get("tools", "ask") == Pin("sha256:1", "Adds.", for_some=True)
