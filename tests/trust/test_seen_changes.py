"""What the log is told of changed definitions."""

import logging

import pytest

from callgate.model.trust import TrustItem
from callgate.trust.lock_file import Pin
from callgate.trust.seen_changes import SeenChanges


def _items(names: list[str], digest: str) -> dict[str, TrustItem]:
    return {name: TrustItem("tool", name, "changed", True, digest) for name in names}


def test_a_server_that_changes_everything_does_not_fill_the_log(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    changes = SeenChanges(lambda _, text: text)
    names = [f"tool_{number}" for number in range(5_000)]

    for digest in ("first", "second"):
        changes.note("echo", "tool", _items(names, digest), frozenset(names), "common")

    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 22
    assert lines[0] == "echo: the tool tool_0 is changed and held"
    assert lines[10] == lines[21] == "echo: and 4990 more; `callgate trust` lists them"


def test_a_change_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    changes = SeenChanges(lambda _, text: text)
    for _ in range(2):
        changes.note("echo", "tool", _items(["a", "b"], "first"), frozenset("ab"), "common")

    assert [record.getMessage() for record in caplog.records] == [
        "echo: the tool a is changed and held",
        "echo: the tool b is changed and held",
    ]


def test_a_tool_that_only_some_clients_are_listed_is_not_gone_from_what_all_are_listed() -> None:
    changes = SeenChanges(lambda _, text: text)
    pins = {"add": Pin("one"), "ask": Pin("two", for_some=True)}
    changes.note("echo", "tool", {}, frozenset({"add"}), "common")
    assert changes.of("echo", "tool", pins) == []

    changes.note("echo", "tool", _items(["ask"], "three"), frozenset({"add", "ask"}), "capable")
    changes.note("echo", "tool", {}, frozenset({"add"}), "common")
    assert [item.name for item in changes.of("echo", "tool", pins)] == ["ask"]
    assert changes.is_for_some("echo", "tool", "ask")

    changes.note("echo", "tool", {}, frozenset({"add", "ask"}), "capable")
    assert changes.of("echo", "tool", pins) == []
    changes.note("echo", "tool", {}, frozenset(), "common")
    assert [(item.name, item.change) for item in changes.of("echo", "tool", pins)] == [("add", "gone")]
