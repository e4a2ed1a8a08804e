"""Threads that must run: started again when they fail, and named while something is wrong."""

import logging
import threading

import pytest

from callgate import background
from callgate.background import Background

DEADLINE_S = 20.0  # only against a hang


@pytest.fixture(autouse=True)
def short_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_PAUSE_S", 0.001)


def test_a_thread_that_fails_is_started_again_and_told_of(caplog: pytest.LogCaptureFixture) -> None:
    threads = Background()
    began, end = threading.Semaphore(0), threading.Event()
    failures = iter([OSError(24, "Too many open files"), ValueError("a bug")])

    def run() -> None:
        began.release()
        if failure := next(failures, None):
            raise failure
        end.wait(DEADLINE_S)

    with caplog.at_level(logging.ERROR):
        thread = threads.thread("store", run)
        assert all(began.acquire(timeout=DEADLINE_S) for _ in range(3))
    assert threads.problems() == [
        "The thread 'store' failed 2 times and was started again: ValueError: a bug"
    ]
    assert [record.getMessage() for record in caplog.records] == [
        "The thread 'store' failed and is started again"
    ]
    end.set()
    thread.join(DEADLINE_S)
    assert not thread.is_alive()
    assert threads.problems() == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_ended_although_nobody_asked_is_named() -> None:
    threads = Background()

    def leave() -> None:
        raise SystemExit

    threads.thread("store", leave).join(DEADLINE_S)
    assert threads.problems() == ["The thread 'store' has ended. Restart the gateway, and please report this"]


def test_a_thread_that_runs_or_ended_when_asked_is_not_mentioned() -> None:
    threads = Background()
    end = threading.Event()

    def run() -> None:
        end.wait(DEADLINE_S)

    thread = threads.thread("store", run)
    assert threads.problems() == []
    end.set()
    thread.join(DEADLINE_S)
    assert threads.problems() == []
