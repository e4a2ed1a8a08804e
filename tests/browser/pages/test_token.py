"""Where tokens are set the page asks for one, keeps it for the session, and shows it to nobody else."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from browser.browser_stage import Stage, open_stage
from browser.page_watch import PageWatch
from browser.sight import expect_connection
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

TOKEN = "a-token-of-thirty-two-characters"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def guarded(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path_factory.mktemp("guarded"), f'tokens = ["{TOKEN}"]') as stage:
        yield stage


async def test_the_page_asks_once_and_keeps_the_token_for_the_session_only(
    page: Page, guarded: Stage, watch: PageWatch
) -> None:
    watch.tolerate("401")
    await page.goto(f"{guarded.url}/")
    dialog = page.get_by_role("dialog", name="This gateway wants a token")
    await expect(dialog).to_be_visible()
    await page.get_by_label("One of [server] tokens").fill("a-wrong-one")
    await page.get_by_role("button", name="Use it").click()
    await expect(dialog.get_by_role("alert")).to_be_visible()
    await page.get_by_label("One of [server] tokens").fill(TOKEN)
    await page.get_by_role("button", name="Use it").click()
    await expect(dialog).to_be_hidden()
    await expect_connection(page, "live")
    # Not again on the next page, nor after a reload.
    await page.get_by_role("navigation").get_by_role("link", name="Servers").click()
    await expect(page.locator("main [data-server=demo]").first).to_be_visible()
    await page.reload()
    await expect(page.locator("main [data-server=demo]").first).to_be_visible()
    await expect(dialog).to_be_hidden()
    assert await page.evaluate("() => Object.values(sessionStorage)") == [TOKEN]
    assert TOKEN not in str(await page.evaluate("() => [Object.entries(localStorage), document.cookie]"))
    assert [url for url in watch.requested if TOKEN in url] == []
    # Another tab is another session.
    other = await page.context.new_page()
    await other.goto(f"{guarded.url}/")
    await expect(other.get_by_role("dialog", name="This gateway wants a token")).to_be_visible()


async def test_without_a_token_the_page_is_there_and_no_data(page: Page, guarded: Stage) -> None:
    for path, status in (("/", 200), ("/tool-calls", 200), ("/api/v1/tool-calls", 401), ("/metrics", 401)):
        answer = await page.request.get(f"{guarded.url}{path}")
        assert (path, answer.status) == (path, status)
    rebound = await page.request.get(f"{guarded.url}/", headers={"host": "evil.example"})
    assert rebound.status == 421
