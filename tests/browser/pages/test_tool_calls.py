"""Tool calls: the stored history, filtered on the server, with the filter in the URL."""

import re
import time
from collections.abc import AsyncIterator, Iterator
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from browser.browser_stage import Stage, open_stage
from browser.frames import Frames
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from browser.sight import expect_total, ids, row, rows
from playwright.async_api import Locator, Page, expect

from callgate.model.exchange import Outcome

pytestmark = pytest.mark.asyncio(loop_scope="session")

MANY = 100_000


def many_calls(now_s: float) -> Iterator[PastCall]:
    """A day and some, one each second, the newest a minute ago; every thousandth failed, one is a needle."""
    begun_s = now_s - 60 - MANY
    for number in range(MANY):
        sql = "SELECT 'needle'" if number == 4_321 else f"SELECT {number}"
        answer = {"content": [{"type": "text", "text": str(number)}], "isError": number % 1000 == 0}
        outcome = Outcome.TOOL_ERROR if number % 1000 == 0 else Outcome.ANSWERED
        yield PastCall(number, begun_s + number, 3.0, "demo", "query", {"query": sql}, answer, outcome)


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def long_stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("long")
    now_s = time.time()
    await write_past(folder, [(PastSession(1, "agent", "1", now_s - MANY - 60), many_calls(now_s))])
    async with open_stage(folder) as stage:
        yield stage


def in_use(page: Page) -> Locator:
    return page.get_by_role("list", name="Filters in use")


def query_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


async def test_a_click_filters_by_session_and_the_url_says_so(page: Page, stage: Stage) -> None:
    async with stage.client(mode="legacy") as one, stage.client(mode="legacy") as other:
        mine = [await stage.ask(one), await stage.ask(one)]
        theirs = await stage.ask(other)
    session = (await stage.calls(limit=2))[1]["session_id"]
    await page.goto(f"{stage.url}/tool-calls")
    await row(page, mine[1]).get_by_title(session).click()
    await expect_total(page, 2)
    assert query_of(page)["sessionId"] == [session]
    shown = await ids(page)
    assert shown == mine[::-1]
    assert theirs not in shown
    # The address alone gives the same, to whomever it is sent; and the way back is the browser's own.
    address = page.url
    await page.go_back()
    await expect(in_use(page)).to_have_count(0)
    await page.go_forward()
    await expect_total(page, 2)
    await page.goto("about:blank")
    await page.goto(address)
    await expect_total(page, 2)
    await page.get_by_role("button", name="Remove the filter session").click()
    await expect(page).to_have_url(re.compile(r"/tool-calls\??$"))


async def test_a_click_with_shift_excludes(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.ask(client)
        await client.call_tool("tickets__search_tickets", {"text": "cart"})
    of_tickets = len(await stage.calls(server="tickets"))
    await page.goto(f"{stage.url}/tool-calls")
    await rows(page).get_by_role("button", name="demo", exact=True).first.click(modifiers=["Shift"])
    await expect_total(page, of_tickets)
    assert query_of(page)["not_server"] == ["demo"]
    await expect(rows(page).get_by_role("button", name="demo", exact=True)).to_have_count(0)


async def test_the_slash_key_leads_to_the_text_filter(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.ask(client, "SELECT 'a rare word: quokka' AS said")
    await page.goto(f"{stage.url}/tool-calls")
    await expect(rows(page).first).to_be_visible()
    await page.keyboard.press("/")
    await expect(page.get_by_role("searchbox", name="Search text")).to_be_focused()
    await page.keyboard.type("quokka")
    await page.keyboard.press("Enter")
    await expect_total(page, 1)
    await expect(rows(page)).to_have_count(1)


async def test_a_hundred_thousand_calls_scroll_with_few_rows_in_the_document(
    page: Page, long_stage: Stage
) -> None:
    await page.goto(f"{long_stage.url}/tool-calls")
    await expect_total(page, MANY)
    await expect(rows(page).first).to_be_visible()
    first = (await ids(page))[0]
    await rows(page).first.hover()
    frames = await Frames.watch(page)
    most_in_document = 0
    seen: set[str] = set()
    for _ in range(60):
        await page.mouse.wheel(0, 900)
        await page.evaluate("() => new Promise(requestAnimationFrame)")
        shown = await ids(page)
        seen.update(shown)
        most_in_document = max(most_in_document, len(shown))
    gaps = await frames.stop()
    print(
        f"60 wheel steps over {MANY} calls: longest frame gap {gaps.longest_ms:.0f} ms, 95 % under "
        f"{gaps.p95_ms:.0f} ms; {len(seen)} calls seen, at most {most_in_document} in the document"
    )
    assert first not in await ids(page)
    assert len(seen) > 500
    assert most_in_document < 150


async def test_a_hundred_thousand_calls_are_filtered_on_the_server(
    page: Page, long_stage: Stage, watch: PageWatch
) -> None:
    await page.goto(f"{long_stage.url}/tool-calls?outcome=tool_error")
    await expect_total(page, MANY // 1000)
    await page.get_by_role("button", name="Clear all").click()
    await expect_total(page, MANY)
    await page.get_by_role("searchbox", name="Search text").fill("needle")
    await page.keyboard.press("Enter")
    await expect_total(page, 1)
    await expect(rows(page)).to_have_count(1)
    asked = [url for url in watch.requested if "/api/v1/tool-calls" in url and "q=needle" in url]
    assert asked, watch.requested
