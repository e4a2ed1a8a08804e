"""The page opens by itself for a person at a screen who typed nothing but `callgate`, and on demand."""

import asyncio
import os
import pty
import re
from contextlib import suppress
from pathlib import Path

import pytest
from end_to_end.gateway_process import CALLGATE, clean_environment

from callgate.cli.commands.serve_command import has_screen, wants_page


@pytest.mark.parametrize(
    ("environment", "platform", "expected"),
    [
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox"}, "linux", True),
        ({}, "linux", False),
        ({}, "darwin", True),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", False),
        ({"DISPLAY": ":0", "SSH_CONNECTION": "10.0.0.1 1 10.0.0.2 22"}, "linux", False),
        ({"SSH_TTY": "/dev/pts/0"}, "darwin", False),
    ],
)
def test_there_is_a_screen(environment: dict[str, str], platform: str, expected: bool) -> None:
    assert has_screen(environment, platform) == expected


@pytest.mark.parametrize(
    ("asked", "is_bare", "expected"), [(True, False, True), (False, True, False), (None, False, False)]
)
def test_what_was_asked_for_decides_and_serve_opens_nothing_by_itself(
    asked: bool | None, is_bare: bool, expected: bool
) -> None:
    assert wants_page(asked, is_bare) == expected


@pytest.mark.parametrize("command", [["serve", "--open"], []], ids=["asked for", "bare, at a terminal"])
async def test_the_browser_is_given_the_address_of_the_page(tmp_path: Path, command: list[str]) -> None:
    seen, browser = tmp_path / "seen", tmp_path / "browser"
    os.mkfifo(seen)
    browser.write_text(f'#!/bin/sh\nprintf %s "$1" > "{seen}"\n')
    browser.chmod(0o755)
    controller, terminal = pty.openpty()
    process = await asyncio.create_subprocess_exec(
        *CALLGATE, *command, "--port", "0",
        stdin=terminal, stderr=terminal, cwd=tmp_path,
        env=clean_environment(tmp_path, BROWSER=f"{browser} %s", COLUMNS="200"),
    )  # fmt: skip
    try:
        # Opening a FIFO waits for its writer, the browser.
        address = await asyncio.wait_for(asyncio.to_thread(seen.read_text), 60)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/", address)
        assert address in os.read(controller, 10_000).decode()
    finally:
        with suppress(OSError):  # nobody wrote: let the reader go
            os.close(os.open(seen, os.O_WRONLY | os.O_NONBLOCK))
        process.terminate()
        await process.wait()
        os.close(terminal)
        os.close(controller)
