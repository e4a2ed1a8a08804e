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


@asynccontextmanager
async def open_chromium(*more_arguments: str) -> AsyncIterator[Browser]:
    program = shutil.which("chromium")
    assert program is not None, "this needs Debian's chromium; scripts/test installs it"
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(
            executable_path=program, args=[*_ARGUMENTS, *more_arguments]
        )
        yield browser
        await browser.close()
