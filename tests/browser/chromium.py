"""Debian's Chromium, without a window and without the habits that look for the Internet."""

import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from playwright.async_api import Browser, async_playwright

_ARGUMENTS = (
    "--no-sandbox",  # tests run as root in containers, where Chromium's own sandbox cannot
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",  # else it asks for hosts of its maker, which no test machine reaches
    "--disable-component-update",
    "--disable-sync",
)


# The same engine without the browser around it: the tests of the page take half the CPU with it.
HEADLESS_SHELL = "chromium-headless-shell"


@asynccontextmanager
async def open_chromium(*more_arguments: str, prefers_shell: bool = False) -> AsyncIterator[Browser]:
    program = (shutil.which(HEADLESS_SHELL) if prefers_shell else None) or shutil.which("chromium")
    assert program is not None, "this needs Debian's chromium; for the tests, scripts/test installs it"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=[*_ARGUMENTS, *more_arguments]
        )
        yield browser
        await browser.close()
