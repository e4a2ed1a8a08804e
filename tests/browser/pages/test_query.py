"""Query and Analytics: the record asked in SQL, and drawn."""

import re

import pytest
from browser.browser_stage import Stage
from browser.page_watch import PageWatch
from browser.sight import expect_total
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def write(page: Page, sql: str) -> None:
    await page.get_by_role("textbox", name="SQL statement").click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.type(sql)
    await page.keyboard.press("Escape")  # whatever completion is offered


async def test_sql_over_the_record_gives_a_table_and_a_link(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        await stage.ask(client)
    await page.goto(f"{stage.url}/query")
    await write(page, "SELECT DISTINCT server_name FROM rpc_events WHERE server_name = 'demo'")
    await page.get_by_role("button", name="Run", exact=True).click()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("demo")
    await expect(page).to_have_url(re.compile(r"/query\?sql=SELECT"))
    await page.reload()
    await expect(page.get_by_role("region", name="Result")).to_contain_text("demo")


async def test_a_statement_without_rows_says_so(page: Page, stage: Stage) -> None:
    await page.goto(f"{stage.url}/query?sql=SELECT 1 WHERE false")
    await expect(page.get_by_role("region", name="Result")).to_contain_text("No rows")


async def test_a_statement_that_writes_is_refused_with_its_reason(
    page: Page, stage: Stage, watch: PageWatch
) -> None:
    watch.tolerate("status of 4")
    await page.goto(f"{stage.url}/query?sql=DROP TABLE rpc_events")
    await expect(page.get_by_role("alert")).to_contain_text("SELECT")


async def test_a_tool_of_the_analytics_filters_and_leads_to_its_calls(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        await client.call_tool("tickets__search_tickets", {"text": "cart"})
    of_tickets = len(await stage.calls(tool="tickets__search_tickets"))
    await page.goto(f"{stage.url}/analytics")
    await page.get_by_role("region", name="Tools").get_by_role("button", name="search_tickets").click()
    await expect(page).to_have_url(re.compile(r"[?&]tool=tickets__search_tickets"))
    await page.get_by_role("link", name="Show these calls").click()
    await expect_total(page, of_tickets)


async def test_a_chart_leaves_minutes_without_a_row_empty(page: Page, stage: Stage) -> None:
    values = ", ".join(f"(TIMESTAMP '2026-11-15 10:{minute}:00', 5)" for minute in ("00", "01", "58", "59"))
    await page.goto(f"{stage.url}/query?sql=SELECT * FROM (VALUES {values}) AS t(minute, calls)")
    await page.get_by_role("button", name="Chart").click()
    canvas = page.get_by_role("region", name="Result").locator("canvas").first
    await expect(canvas).to_be_visible()
    await page.wait_for_function(f"() => ({INKED})(0.0, 1.0) > 0")
    assert await page.evaluate(f"() => ({INKED})(0.3, 0.7)") == 0


# How many coloured pixels the chart has between two parts of its width; axes and grid are grey.
INKED = """(from, to) => {
  const canvas = document.querySelector('main canvas');
  const [left, width] = [Math.round(canvas.width * from), Math.round(canvas.width * (to - from))];
  const sheet = new OffscreenCanvas(canvas.width, canvas.height);
  const copy = sheet.getContext('2d', { willReadFrequently: true });
  copy.drawImage(canvas, 0, 0);
  const { data } = copy.getImageData(left, 0, width, canvas.height);
  let count = 0;
  for (let at = 0; at < data.length; at += 4) {
    const [red, green, blue, alpha] = data.slice(at, at + 4);
    if (alpha > 60 && Math.max(red, green, blue) - Math.min(red, green, blue) > 60) count += 1;
  }
  return count;
}"""


async def test_the_analytics_name_errors_that_have_no_code(page: Page, stage: Stage) -> None:
    async with stage.client() as client:
        await client.call_tool("tickets__summarize", {"ticket": "none"})
    own = len([one for one in await stage.calls(outcome="tool_error") if one["error_code"] is None])
    await page.goto(f"{stage.url}/analytics")
    errors = page.get_by_role("region", name="Errors and refusals")
    await expect(errors).not_to_contain_text("none")
    await errors.get_by_role("button", name="the tool's own error").click()
    await page.get_by_role("link", name="Show these calls").click()
    await expect_total(page, own)
