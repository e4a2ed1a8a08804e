"""The log on stderr: a time on each line, nothing that a terminal acts on, repeats counted."""

import io
import json
import logging
import re
from collections.abc import Iterator

import pytest

from callgate.cli.log import LogFormat, LogLevel, LogOptions, log_to_stderr

ours = logging.getLogger("callgate.tests")
theirs = logging.getLogger("somebody.else")


@pytest.fixture
def stderr() -> Iterator[io.StringIO]:
    root, gate = logging.getLogger(), logging.getLogger("callgate")
    before = root.handlers, root.level, gate.level
    yield io.StringIO()
    root.handlers, root.level, gate.level = before


def lines(stderr: io.StringIO) -> list[str]:
    return stderr.getvalue().splitlines()


def test_a_line_has_its_time_and_its_level(stderr: io.StringIO) -> None:
    log_to_stderr(LogOptions(LogLevel.INFO), stderr)
    ours.info("✓ %s is up", "files")
    (line,) = lines(stderr)
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d INFO    ✓ files is up", line)


def test_the_level_is_ours_alone_and_libraries_only_warn(stderr: io.StringIO) -> None:
    log_to_stderr(LogOptions(LogLevel.DEBUG), stderr)
    ours.debug("one")
    theirs.info("two")
    theirs.warning("three")
    assert [line.rpartition(" ")[2] for line in lines(stderr)] == ["one", "three"]


def test_quiet_means_warnings_and_errors(stderr: io.StringIO) -> None:
    log_to_stderr(LogOptions(), stderr)
    ours.info("one")
    ours.warning("two")
    assert [line.rpartition(" ")[2] for line in lines(stderr)] == ["two"]


@pytest.mark.parametrize("form", LogFormat)
def test_a_strangers_text_can_neither_act_on_the_terminal_nor_begin_a_line(
    stderr: io.StringIO, form: LogFormat
) -> None:
    log_to_stderr(LogOptions(LogLevel.INFO, form), stderr)
    ours.warning("✗ %s is down", "a\x1b]0;title\x07\u202eb\n2026-01-01 00:00:00 INFO all is well")
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", stderr.getvalue())
    assert not any(line.startswith("2026-01-01") for line in lines(stderr))


def test_json_lines_are_objects_with_the_traceback_of_a_bug(stderr: io.StringIO) -> None:
    log_to_stderr(LogOptions(LogLevel.INFO, LogFormat.JSON), stderr)
    ours.info("fine")
    try:
        int("broken")
    except ValueError:
        ours.exception("%s failed", "it")
    first, second = map(json.loads, lines(stderr))
    assert (first["level"], first["logger"], first["message"]) == ("info", "callgate.tests", "fine")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", first["time"])
    assert second["message"] == "it failed"
    assert "ValueError: invalid literal" in second["exception"]


def test_a_line_that_repeats_is_counted_and_the_others_are_not_touched(stderr: io.StringIO) -> None:
    log_to_stderr(LogOptions(), stderr)
    for number in range(10_000):
        ours.warning("%s sent something that is not MCP: %s", "files", number)
    ours.warning("%s sent something that is not MCP: %s", "github", 1)
    assert len(lines(stderr)) == 6
    later = ours.makeRecord(
        ours.name, logging.WARNING, "f", 1, "%s sent something that is not MCP: %s", ("files", 1), None
    )
    later.created += 61
    ours.handle(later)
    assert lines(stderr)[-1].endswith("not MCP: 1 (9995 more like it since the last one)")
