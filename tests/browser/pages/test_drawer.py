"""The details beside a list: what the call's own page shows, in the address, gone with Back.

And lists that are where they were when one comes back to them.
"""

import re
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from browser.browser_stage import Stage, open_stage
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from browser.sight import expect_connection, expect_total, row, rows
from playwright.async_api import Locator, Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
MANY = 900


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def past_stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    """A long list, the second newest of which answered with a picture."""
    folder = tmp_path_factory.mktemp("past")
    now_s = time.time()
    picture = {"content": [{"type": "image", "mimeType": "image/png", "data": PIXEL}]}

    def call(number: int) -> PastCall:
        answer = picture if number == MANY - 2 else {"content": [{"type": "text", "text": str(number)}]}
        return PastCall(number, now_s - MANY + number - 5, 2.0, "demo", "query", {"n": number}, answer)

    await write_past(folder, [(PastSession(1, "agent", "1", now_s - MANY - 60), map(call, range(MANY)))])
    async with open_stage(folder) as stage:
        yield stage


def drawer(page: Page) -> Locator:
    return page.get_by_role("complementary")


async def open_details(page: Page, call: str) -> None:
    """By a click beside the values of the row, which would filter."""
    await row(page, call).get_by_role("cell").nth(4).click()


async def scroll_top(page: Page) -> int:
    return await page.get_by_role("rowgroup", name=re.compile("calls")).evaluate("list => list.scrollTop")


async def scroll_down(page: Page, distance: int) -> str:
    """The id of a row that is in sight then."""
    await rows(page).first.hover()
    await page.mouse.wheel(0, distance)
    await page.wait_for_function(
        "() => document.querySelector('[role=rowgroup][aria-label*=calls]').scrollTop > 1000"
    )
    in_sight = await rows(page).evaluate_all(
        """rows => rows.map(row => [row.getBoundingClientRect().top, row.dataset.call])
          .filter(([top]) => top > 400 && top < 700).map(([, id]) => id)"""
    )
    return in_sight[0]


async def test_the_details_show_the_result_as_the_calls_own_page_does(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        table = await stage.ask(client, "SELECT status, count(*) AS n FROM shop.orders GROUP BY 1")
        refused = await stage.ask(client, "DROP TABLE shop.orders")
        await client.call_tool("tickets__search_tickets", {"text": "cart"})
    decoded = (await stage.calls(limit=1))[0]["id"]
    await page.goto(f"{stage.url}/tool-calls")
    await open_details(page, table)
    await expect(drawer(page).get_by_test_id("result-table")).to_contain_text("delivered")
    await expect(drawer(page).get_by_test_id("call-verdict")).to_contain_text("allow")
    await open_details(page, refused)
    await expect(drawer(page).get_by_test_id("call-fault")).to_contain_text("What to do")
    await open_details(page, decoded)
    await expect(drawer(page).get_by_test_id("result-table")).to_contain_text("Export hangs")
    await expect(drawer(page)).not_to_contain_text('\\"')


async def test_the_details_show_a_picture_as_a_picture(page: Page, past_stage: Stage) -> None:
    picture = (await past_stage.calls(limit=2))[1]["id"]
    await page.goto(f"{past_stage.url}/tool-calls?call={picture}")
    await expect(drawer(page).get_by_role("img", name="Picture of the answer")).to_be_visible()


@pytest.mark.parametrize("path", ["/", "/tool-calls", "/tool-calls?server=demo"])
async def test_the_details_are_in_the_address_and_close_on_back(
    page: Page, past_stage: Stage, path: str
) -> None:
    newest, older = (one["id"] for one in await past_stage.calls(limit=2))
    await page.goto(past_stage.url + path)
    await open_details(page, newest)
    await expect(page).to_have_url(re.compile(rf"[?&]call={newest}"))
    await expect(drawer(page)).to_be_visible()
    # j and k leaf through: no steps of the way back.
    await page.keyboard.press("j")
    await expect(page).to_have_url(re.compile(rf"[?&]call={older}"))
    address = page.url
    await page.go_back()
    await expect(drawer(page)).to_have_count(0)
    await expect(page).to_have_url(past_stage.url + path)
    await page.go_forward()
    await expect(drawer(page)).to_be_visible()
    await page.goto("about:blank")
    await page.goto(address)
    await expect(drawer(page)).to_contain_text(older)
    await page.keyboard.press("Escape")
    await expect(drawer(page)).to_have_count(0)
    await expect(page).to_have_url(past_stage.url + path)


async def test_details_that_were_closed_do_not_come_back_with_back(page: Page, past_stage: Stage) -> None:
    newest = (await past_stage.calls(limit=1))[0]["id"]
    await page.goto(f"{past_stage.url}/sessions")
    await page.get_by_role("navigation").get_by_role("link", name="Tool calls").click()
    await open_details(page, newest)
    await expect(drawer(page)).to_be_visible()
    await page.get_by_role("button", name="Close the details").click()
    await expect(drawer(page)).to_have_count(0)
    await page.go_back()
    await expect(page).to_have_url(f"{past_stage.url}/sessions")


async def test_details_of_a_call_that_is_not_in_the_list_are_shown_too(page: Page, past_stage: Stage) -> None:
    oldest = (await past_stage.calls(limit=1, order="oldest"))[0]["id"]
    await page.goto(f"{past_stage.url}/tool-calls?call={oldest}")
    await expect(drawer(page)).to_contain_text(oldest)


async def test_details_of_a_call_that_is_not_in_the_record_say_so(
    page: Page, past_stage: Stage, watch: PageWatch
) -> None:
    watch.tolerate("404")
    await page.goto(f"{past_stage.url}/tool-calls?call=00000000-0000-7000-8000-000000000000")
    await expect(drawer(page)).to_contain_text("Not in the record")


async def test_opening_the_details_leaves_the_list_where_it_is(page: Page, past_stage: Stage) -> None:
    await page.goto(f"{past_stage.url}/tool-calls")
    await expect_total(page, MANY)
    call = await scroll_down(page, 9_000)
    before = await scroll_top(page)
    await open_details(page, call)
    await expect(drawer(page)).to_be_visible()
    assert await scroll_top(page) == before
    await page.go_back()
    await expect(drawer(page)).to_have_count(0)
    assert await scroll_top(page) == before


@pytest.mark.parametrize("path", ["/", "/tool-calls", "/sessions/{session}"])
async def test_a_list_is_where_it_was_when_one_comes_back_from_a_call(
    page: Page, past_stage: Stage, path: str
) -> None:
    newest = (await past_stage.calls(limit=1))[0]
    await page.goto(past_stage.url + path.format(session=newest["session_id"]))
    await expect_connection(page, "live")
    await expect(rows(page).first).to_be_visible()
    call = await scroll_down(page, 2_400)
    before = await scroll_top(page)
    await row(page, call).get_by_role("link").first.click()
    await expect(page.get_by_test_id("call-page")).to_have_attribute("data-call-id", call)
    await page.go_back()
    await expect(row(page, call)).to_be_in_viewport()
    assert await scroll_top(page) == before


async def test_a_list_that_is_asked_for_anew_begins_at_its_top(page: Page, past_stage: Stage) -> None:
    await page.goto(f"{past_stage.url}/tool-calls")
    await expect_total(page, MANY)
    call = await scroll_down(page, 2_400)
    await row(page, call).get_by_role("link").first.click()
    await expect(page.get_by_test_id("call-page")).to_have_attribute("data-call-id", call)
    await page.get_by_role("navigation").get_by_role("link", name="Tool calls").click()
    await expect(rows(page).first).to_be_visible()
    assert await scroll_top(page) == 0


async def test_back_from_a_filter_finds_the_list_where_it_was(page: Page, past_stage: Stage) -> None:
    await page.goto(f"{past_stage.url}/tool-calls")
    await expect_total(page, MANY)
    call = await scroll_down(page, 2_400)
    before = await scroll_top(page)
    await row(page, call).get_by_role("button", name="answered").click()
    await expect(page.get_by_role("list", name="Filters in use")).to_be_visible()
    await expect(row(page, call)).not_to_be_in_viewport()
    await page.go_back()
    await expect(row(page, call)).to_be_in_viewport()
    assert await scroll_top(page) == before
