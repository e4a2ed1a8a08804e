"""Live: what agents do, as they do it."""

import time
from pathlib import Path

import pytest
from browser.browser_stage import COUNT, Stage, open_stage
from browser.cut_line import line_to
from browser.frames import Frames
from browser.load import burst
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from browser.sight import expect_connection, expect_cut, expect_loaded, ids, row, rows
from playwright.async_api import Locator, Page, expect

from callgate.model.exchange import Outcome

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def open_live(page: Page, url: str) -> None:
    await page.goto(f"{url}/")
    await expect_connection(page, "live")


def table(page: Page) -> Locator:
    return page.get_by_role("table", name="Newest tool calls")


async def expect_listed(page: Page, count: int) -> None:
    """So many rows in all, those out of sight counted in."""
    await expect(table(page)).to_have_attribute("data-calls", str(count))


async def all_ids(page: Page) -> list[str]:
    """Of the whole list, read from its top to its end."""
    await rows(page).first.hover()
    found: list[str] = []
    while new := [one for one in await ids(page) if one not in found]:
        found += new
        await page.mouse.wheel(0, 400)
        await expect_loaded(page)
    return found


async def test_a_call_by_the_sdk_client_appears_without_reload(page: Page, stage: Stage) -> None:
    await open_live(page, stage.url)
    async with stage.client() as client:
        await client.list_tools()
        begun = time.monotonic()
        await client.call_tool("demo__query", {"query": f"{COUNT} WHERE 1 = 1"})
        answered = time.monotonic()
        newest = rows(page).first
        await expect(newest).to_contain_text("WHERE 1 = 1")
        shown = time.monotonic()
    await expect(newest).to_contain_text("answered")
    after_answer_ms, after_start_ms = (shown - answered) * 1000, (shown - begun) * 1000
    print(f"on Live {after_answer_ms:.0f} ms after its answer, {after_start_ms:.0f} ms after its start")


async def test_an_empty_record_offers_a_sample_call_which_then_appears(
    page: Page, fresh_stage: Stage
) -> None:
    await open_live(page, fresh_stage.url)
    await page.get_by_role("button", name="Run a sample call").click()
    await expect(rows(page)).to_have_count(1)
    await expect(page.get_by_role("button", name="Run a sample call")).to_have_count(0)


async def test_a_paused_page_stands_still_and_catches_up(page: Page, stage: Stage) -> None:
    await open_live(page, stage.url)
    async with stage.client() as client:
        before = await stage.ask(client)
        await expect(row(page, before)).to_be_visible()
        await page.keyboard.press("p")
        await expect(page.get_by_role("button", name="Go on")).to_have_attribute("aria-pressed", "true")
        held = await stage.ask(client)
        await expect(page.get_by_role("button", name="1 new")).to_be_visible()
        await expect(row(page, held)).to_have_count(0)
        await page.get_by_role("button", name="Go on").click()
        await expect(row(page, held)).to_be_visible()


async def test_rows_are_chosen_and_opened_by_the_keyboard(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        older, newer = await stage.ask(client), await stage.ask(client)
    await open_live(page, stage.url)
    await expect(row(page, newer)).to_be_visible()
    chosen = page.locator('[data-call][aria-selected="true"]')
    await page.keyboard.press("j")
    await expect(chosen).to_have_attribute("data-call", newer)
    await page.keyboard.press("j")
    await expect(chosen).to_have_attribute("data-call", older)
    await page.keyboard.press("k")
    await expect(chosen).to_have_attribute("data-call", newer)
    await page.keyboard.press("Enter")  # beside the list; once more for the whole of it
    await page.keyboard.press("Enter")
    await expect(page).to_have_url(f"{stage.url}/calls/{newer}")
    await page.go_back()
    await expect(row(page, newer)).to_be_visible()


@pytest.mark.parametrize("heard_before", [3, 0], ids=["that carried calls", "that carried none"])
async def test_a_cut_stream_resumes_without_loss_or_doubles(
    page: Page, fresh_stage: Stage, watch: PageWatch, heard_before: int
) -> None:
    watch.tolerate(r"net::ERR_")  # the browser's own word on a line that the test cuts
    async with line_to(fresh_stage.port) as line, fresh_stage.client() as client:
        await open_live(page, line.url)
        for _ in range(heard_before):
            await fresh_stage.ask(client)
        await expect(rows(page)).to_have_count(heard_before)
        await expect_loaded(page)
        line.cut()
        await expect_cut(page)
        _, unheard = await burst(fresh_stage.port, per_second=500, seconds=0.3)
        line.mend()
        await expect_connection(page, "live")
        for _ in range(2):
            await fresh_stage.ask(client)
        # Further down than anything that is asked for beside the stream.
        await expect_listed(page, heard_before + unheard + 2)
        recorded = [call["id"] for call in await fresh_stage.calls()]
        assert await all_ids(page) == recorded


async def test_while_the_stream_is_refused_the_page_polls_every_30_s(
    page: Page, fresh_stage: Stage, watch: PageWatch
) -> None:
    watch.tolerate(r"net::ERR_")
    await page.clock.install()
    await page.route("**/api/v1/events*", lambda route: route.abort())
    await page.goto(f"{fresh_stage.url}/")
    await expect_cut(page)
    async with fresh_stage.client() as client:
        call = await fresh_stage.ask(client)
    await page.clock.fast_forward(31_000)
    await expect(row(page, call)).to_be_visible()
    await expect_connection(page, "polling")


async def test_a_burst_of_a_thousand_calls_a_second_keeps_the_page_responsive_and_small(
    page: Page, fresh_stage: Stage
) -> None:
    await open_live(page, fresh_stage.url)
    inspector = await page.context.new_cdp_session(page)
    frames = await Frames.watch(page)
    rate, made = await burst(fresh_stage.port, per_second=1000, seconds=3)
    recorded = (await fresh_stage.calls(limit=1))[0]["id"]
    await expect(row(page, recorded)).to_be_visible()
    gaps = await frames.stop()
    await inspector.send("HeapProfiler.collectGarbage")
    heap = (await inspector.send("Runtime.getHeapUsage"))["usedSize"]
    in_dom = await rows(page).count()
    kept = int(await table(page).get_attribute("data-calls") or 0)
    print(
        f"{made} calls at {rate:.0f}/s: longest frame gap {gaps.longest_ms:.0f} ms, 95 % under "
        f"{gaps.p95_ms:.0f} ms, {heap / 1e6:.1f} MB of heap, {in_dom} rows in the document, {kept} in memory"
    )
    assert in_dom < 150
    assert kept <= 5000
    assert heap < 64e6


async def test_the_tiles_count_five_minutes_and_what_was_refused_apart(page: Page, tmp_path: Path) -> None:
    now_s = time.time()

    def call(number: int, ago_s: float, took_ms: float, outcome: Outcome) -> PastCall:
        answer = {"content": [], "isError": outcome is not Outcome.ANSWERED}
        return PastCall(number, now_s - ago_s, took_ms, "demo", "query", {}, answer, outcome)

    slow = [call(number, 200, 2_000.0, Outcome.ANSWERED) for number in range(10)]
    quick = [call(number, 20, 10.0, Outcome.ANSWERED) for number in range(10, 20)]
    refused = [call(number, 30, 1.0, Outcome.REFUSED) for number in range(20, 23)]
    failed = [call(23, 40, 1.0, Outcome.TOOL_ERROR)]
    await write_past(
        tmp_path, [(PastSession(1, "agent", "1", now_s - 290), [*slow, *failed, *refused, *quick])]
    )
    async with open_stage(tmp_path) as stage:
        await open_live(page, stage.url)
        for name, figure in (("calls", "24"), ("errors", "1"), ("refused", "3"), ("p95", "2.00 s")):
            tile = page.locator(f'[data-testid="live-tile"][data-name="{name}"]')
            await expect(tile.get_by_test_id("live-figure")).to_have_text(figure)
        await page.close()
