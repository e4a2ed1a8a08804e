"""Finding a call: search while typing, sorting, counts, saved filters, the palette, days and zones."""

import asyncio
import re
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit

import pytest
import pytest_asyncio
from browser.browser_stage import Stage, open_stage
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from browser.sight import expect_loaded, expect_total, ids, row, rows
from playwright.async_api import Browser, Locator, Page, Route, expect
from waiting import until

from callgate.model.exchange import Outcome

pytestmark = pytest.mark.asyncio(loop_scope="session")

CALLS, ERRORS = 24, 4
# Of each client half. In UTC all are of one day; fourteen hours to the east those after noon are of the next.
DAY = datetime.now(UTC).replace(hour=0, minute=0, second=0, microsecond=0) - timedelta(days=2)
FAR_EAST = "Pacific/Kiritimati"


def past_calls(client: int) -> Iterator[PastCall]:
    for number in range(client, CALLS, 2):
        at = DAY + timedelta(hours=9 if number < CALLS // 2 else 12, seconds=number)
        word = "quokka" if number == 5 else "plain"
        outcome, code = Outcome.ANSWERED, None
        if number % 6 == 0:
            outcome, code = Outcome.TOOL_ERROR, "source.failed"
        elif number == 1:
            outcome, code = Outcome.REFUSED, "refused.read_only"
        answer = {"content": [{"type": "text", "text": "word " * 10 * number}]}
        took_ms = float((number * 7) % CALLS + 1) * 50  # each its own
        yield PastCall(
            number, at.timestamp(), took_ms, "demo", "query", {"query": f"SELECT '{word} {number}'"},
            answer, outcome, code, code,
        )  # fmt: skip


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def found(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    folder = tmp_path_factory.mktemp("finding")
    begun_s = (DAY + timedelta(hours=8)).timestamp()
    sessions = [PastSession(n + 1, name, "1", begun_s + n) for n, name in enumerate(("alpha", "beta"))]
    await write_past(folder, [(session, past_calls(n)) for n, session in enumerate(sessions)])
    async with open_stage(folder) as stage:
        yield stage


def query_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(urlsplit(page.url).query)


def search_box(page: Page) -> Locator:
    return page.get_by_role("searchbox", name="Search text")


async def show(page: Page, stage: Stage, query: str = "", total: int = CALLS) -> None:
    await page.goto(f"{stage.url}/tool-calls{query}")
    await expect_total(page, total)


async def expect_order(page: Page, stage: Stage, order: str) -> None:
    wanted = [call["id"] for call in await stage.calls(order=order)]
    await expect(rows(page).first).to_have_attribute("data-call", wanted[0])

    async def is_shown() -> bool:
        shown = await ids(page)  # in pieces: the list may change while it is read
        return shown == wanted[: len(shown)]

    await until(is_shown)


async def test_search_needs_no_enter_and_gives_up_a_question_that_is_no_longer_asked(
    page: Page, found: Stage
) -> None:
    asked, given_up = asyncio.Event(), asyncio.Event()

    async def hold(_: Route) -> None:
        asked.set()  # and never answered

    await page.route(re.compile(r"/api/v1/tool-calls\?.*q=stale"), hold)
    page.on("requestfailed", lambda request: given_up.set() if "q=stale" in request.url else None)
    await show(page, found)
    await search_box(page).fill("stale")
    await asyncio.wait_for(asked.wait(), 20)
    await search_box(page).fill("quokka")
    await expect_total(page, 1)
    await asyncio.wait_for(given_up.wait(), 20)
    assert query_of(page)["q"] == ["quokka"]
    await expect(search_box(page)).to_be_focused()
    await search_box(page).fill("")
    await expect_total(page, CALLS)


async def test_a_head_sorts_and_the_address_and_back_know_it(page: Page, found: Stage) -> None:
    await show(page, found)
    duration = page.get_by_role("columnheader", name="Duration")
    await expect(duration).to_have_attribute("aria-sort", "none")
    for order, sort in (("slowest", "descending"), ("fastest", "ascending")):
        await duration.get_by_role("button").click()
        await expect(duration).to_have_attribute("aria-sort", sort)
        assert query_of(page)["order"] == [order]
        await expect_order(page, found, order)
    await expect(page.get_by_test_id("day")).to_have_count(0)  # each row says its day
    await page.get_by_label("Sort").select_option("most_tokens")
    await expect_order(page, found, "most_tokens")
    await page.go_back()
    await expect_order(page, found, "fastest")
    # The details beside the list leave it as it is, and Back closes them.
    first = (await ids(page))[0]
    await row(page, first).click()
    await expect(page).to_have_url(re.compile(f"order=fastest&call={first}$"))
    await page.go_back()
    await expect(page).to_have_url(re.compile(r"order=fastest$"))
    await expect_order(page, found, "fastest")


async def test_each_choice_says_how_many_calls_it_finds(page: Page, found: Stage) -> None:
    await show(page, found)
    clients = page.get_by_label("Add a client")
    await expect(clients.get_by_role("option")).to_have_text(["Client", "alpha/1 (12)", "beta/1 (12)"])
    await clients.select_option("alpha/1")
    await expect_total(page, CALLS // 2)
    # With this filter: of other facets fewer, of its own still all.
    await expect(clients.get_by_role("option", name="beta/1 (12)")).to_have_count(1)
    await expect(page.get_by_label("Add a tool").get_by_role("option")).to_have_text(
        ["Tool", "demo__query (12)"]
    )
    codes = page.get_by_label("Add an error code")
    await expect(codes.get_by_role("option")).to_have_text(["Error", "none (8)", "source.failed (4)"])
    await codes.select_option("source.failed")
    await expect_total(page, 4)
    await page.get_by_role("button", name="Clear all").click()
    await expect_total(page, CALLS)
    # Counts come after the list.
    await expect(page.get_by_label("Add a tool").get_by_role("option", name=f"({CALLS})")).to_have_count(1)
    slow = page.get_by_label("At least this long").get_by_role("option", name="≥ 1.00 s")
    count = int(re.findall(r"\((\d+)\)", await slow.inner_text())[0])
    await page.get_by_label("At least this long").select_option("1000")
    await expect_total(page, count)
    assert 0 < count < CALLS


async def test_errors_only_leaves_out_what_was_refused(page: Page, found: Stage) -> None:
    await show(page, found)
    only = page.get_by_role("button", name="Errors only", exact=True)
    await only.click()
    await expect_total(page, ERRORS)
    await expect(only).to_have_attribute("aria-pressed", "true")
    await expect(page.get_by_role("list", name="Filters in use").get_by_role("listitem")).to_have_count(2)
    await only.click()
    await expect_total(page, CALLS)


async def test_a_saved_filter_stays_and_its_address_shows_the_same_to_others(
    page: Page, found: Stage, browser: Browser
) -> None:
    await show(page, found, "?client=beta%2F1&order=slowest", CALLS // 2)
    await page.get_by_label("Saved filters").click()
    await page.get_by_label("Name for the current filter").fill("slow beta")
    await page.keyboard.press("Enter")
    await page.goto(f"{found.url}/analytics")
    await page.get_by_label("Saved filters").click()
    link = page.get_by_role("link", name="slow beta")
    address = await link.get_attribute("href")
    await link.click()
    await expect_total(page, CALLS // 2)
    await expect_order_of(page, found, "slowest&client=beta%2F1")
    other = await browser.new_context()
    try:
        theirs = await other.new_page()
        await theirs.goto(f"{found.url}{address}")
        await expect_total(theirs, CALLS // 2)
        await theirs.close()
    finally:
        await other.close()
    await page.get_by_label("Saved filters").first.click()
    await page.get_by_role("button", name="Forget slow beta").click()
    await page.reload()
    await page.get_by_label("Saved filters").first.click()
    await expect(page.get_by_text("None yet.")).to_be_visible()


async def expect_order_of(page: Page, stage: Stage, query: str) -> None:
    answer = await stage.gateway.get(f"/api/v1/tool-calls?limit=1&order={query}")
    await expect(rows(page).first).to_have_attribute("data-call", answer["tool_calls"][0]["id"])


async def test_the_palette_leads_anywhere_by_the_keyboard_alone(page: Page, found: Stage) -> None:
    await page.goto(found.url)
    await expect_loaded(page)
    field = page.get_by_role("combobox", name="Find pages")

    async def find(text: str, option: str) -> None:
        await page.keyboard.press("Control+k")
        await expect(field).to_be_focused()
        await page.keyboard.type(text)
        wanted = page.get_by_role("option", name=option)
        await expect(wanted).to_have_count(1)
        for _ in range(20):
            if await wanted.get_attribute("aria-selected") == "true":
                break
            await page.keyboard.press("ArrowDown")
        await page.keyboard.press("Enter")
        await expect(field).to_have_count(0)

    await find("analy", "Analytics")
    await expect(page).to_have_url(re.compile(r"/analytics$"))
    await find("ticke", "tickets up")
    await expect(page).to_have_url(re.compile(r"/servers/tickets$"))
    call = (await found.calls(limit=1))[0]
    await find(call["id"][:20], call["id"])
    await expect(page).to_have_url(re.compile(f"/calls/{call['id']}$"))
    await find("beta", "beta 0")
    await expect(page).to_have_url(re.compile(r"/sessions/"))
    await find("quokka", "Search all calls")
    await expect_total(page, 1)
    await page.keyboard.press("Control+k")
    await expect(field).to_be_focused()
    await page.keyboard.press("Escape")
    await expect(field).to_have_count(0)


async def test_times_are_of_the_zone_that_was_chosen_and_days_too(browser: Browser, found: Stage) -> None:
    context = await browser.new_context(timezone_id=FAR_EAST, viewport={"width": 1440, "height": 900})
    try:
        page = await context.new_page()
        watch = PageWatch(page)
        await show(page, found, "?order=oldest")
        first = rows(page).first.get_by_role("link").first
        days, zone = page.get_by_test_id("day"), page.get_by_test_id("zone")
        later = DAY + timedelta(days=1)
        await expect(days).to_have_text(
            [re.compile(f"{DAY:%d %b %Y}.*UTC\\+14"), re.compile(f"{later:%d %b %Y}")]
        )
        await expect(first).to_contain_text("23:00:00")
        await expect(page.get_by_role("columnheader", name="Time UTC+14")).to_be_visible()
        await zone.click()
        await expect(days).to_have_text([re.compile(f"{DAY:%d %b %Y}.*UTC$")])
        await expect(first).to_contain_text("09:00:00")
        await first.hover()
        await expect(first).to_have_attribute("title", re.compile(r"09:00:00\.000 UTC, [12] d ago$"))
        await page.reload()
        await expect(zone).to_have_text("UTC")
        await expect(first).to_contain_text("09:00:00")
        call = (await found.calls(limit=1, order="oldest"))[0]["id"]
        await page.goto(f"{found.url}/calls/{call}")
        await expect(page.get_by_test_id("began")).to_have_text(
            re.compile(f"{DAY:%d %b %Y}.* 09:00:00.000 UTC$")
        )
        await zone.click()
        await expect(page.get_by_test_id("began")).to_have_text(re.compile("23:00:00.000 GMT\\+14$"))
        assert watch.complaints() == []
    finally:
        await context.close()
