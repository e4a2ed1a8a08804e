"""Debian's Chromium, a gateway with a demo behind it, and a page that is watched.

Playwright without its pytest plugins: the sync one keeps a loop running in which no other test of this suite
could run its own, and the asyncio one wants every fixture of the suite on the session's loop. Here only the
tests of this folder live on it, since the browser does.
"""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from browser.browser_stage import Stage, open_stage
from browser.chromium import open_chromium
from browser.page_watch import PageWatch
from playwright.async_api import Browser, BrowserContext, Page, expect

# Only against a hang; nothing is asserted about it. Machines that run tests are busy.
PATIENCE_MS = 20_000
expect.set_options(timeout=PATIENCE_MS)


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def browser() -> AsyncIterator[Browser]:
    async with open_chromium(prefers_shell=True) as browser:
        yield browser


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def context(browser: Browser) -> AsyncIterator[BrowserContext]:
    """One for all windows: what was loaded and compiled for one is not for the next."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900}, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE_MS)
    yield context
    await context.close()


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext) -> AsyncIterator[Page]:
    """A window of its own, as of somebody who was never here."""
    page = await context.new_page()
    await forget_everything(page)
    yield page
    for window in context.pages:
        await window.close()


async def forget_everything(page: Page) -> None:
    """What pages have kept, and what they were allowed."""
    devtools = await page.context.new_cdp_session(page)
    await devtools.send("Storage.clearDataForOrigin", {"origin": "*", "storageTypes": "all"})
    await devtools.detach()
    await page.context.clear_permissions()


@pytest_asyncio.fixture(loop_scope="session", scope="session")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """One for all tests that only add to its record."""
    async with open_stage(tmp_path_factory.mktemp("stage")) as stage:
        yield stage


@pytest_asyncio.fixture(loop_scope="session")
async def fresh_stage(tmp_path: Path, page: Page) -> AsyncIterator[Stage]:
    """One with an empty record."""
    async with open_stage(tmp_path) as stage:
        yield stage
        await page.close()  # or it would rightly complain that its gateway is gone


@pytest_asyncio.fixture(loop_scope="session", autouse=True)
async def watch(page: Page) -> AsyncIterator[PageWatch]:
    """Fails the test when the page complained of anything, or asked anybody but its gateway.

    On the loop although it waits for nothing: Playwright's `on` wants one that runs.
    """
    watch = PageWatch(page)
    yield watch
    assert watch.complaints() == []
