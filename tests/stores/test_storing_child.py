"""The storing process alone, without a store: whose code it runs."""

import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from callgate.recorder.storing.messages import LogLine, StorePlace, StoringSettings, StoringSetup
from callgate.recorder.storing.storing_process import StoringProcess

_UNREADABLE = StorePlace("postgres", msgspec.Raw(msgspec.msgpack.encode("no address")))
_SHADOWED = 7


def in_a_thread(work: Callable[[], None]) -> None:
    """The process ends with the thread that starts it, which blocks signals for itself."""
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.mark.parametrize("name", ["callgate", "msgspec", "logging"])
def test_a_module_in_the_working_folder_is_not_run_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    (tmp_path / f"{name}.py").write_text(f"raise SystemExit({_SHADOWED})")
    monkeypatch.chdir(tmp_path)
    said: list[str] = []
    ended: list[int] = []

    def start() -> None:
        settings = StoringSettings(1.0, 1, None, None, 1)
        process = StoringProcess(StoringSetup(str(tmp_path), "w", _UNREADABLE, False, 20, {}, settings))
        while (reports := process.receive(1.0)) is not None:
            said.extend([report.text for report in reports if isinstance(report, LogLine)])
        ended.append(process.ended())

    in_a_thread(start)
    assert ended == [1]
    assert said[0].startswith("The process that stores the record failed")
