"""One call: what was asked and answered, by whom, and the same again."""

import time
from pathlib import Path
from typing import Any

import pytest
from browser.browser_stage import COUNT, Stage, open_stage
from browser.page_watch import PageWatch
from browser.past import PastCall, PastSession, write_past
from playwright.async_api import Page, expect

from callgate.model.exchange import StatementFacts

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def made(stage: Stage, tool: str, arguments: dict[str, Any]) -> str:
    async with stage.client() as client:
        await client.call_tool(tool, arguments)
    return (await stage.calls(limit=1))[0]["id"]


async def test_a_call_shows_its_statement_its_verdict_and_its_result_as_a_table(
    page: Page, stage: Stage
) -> None:
    call = await made(stage, "demo__query", {"query": "SELECT status, count(*) FROM shop.orders GROUP BY 1"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-page")).to_have_attribute("data-call-id", call)
    await expect(page.get_by_test_id("call-sql")).to_contain_text("GROUP BY 1")
    await expect(page.get_by_test_id("call-verdict")).to_contain_text("allow")
    await expect(page.get_by_test_id("result-table")).to_contain_text("delivered")
    await expect(page.get_by_test_id("call-outcome")).to_contain_text("answered")


async def test_json_inside_a_text_is_decoded(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__search_tickets", {"text": "cart"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-page")).to_contain_text("Export hangs for large carts")
    await expect(page.get_by_test_id("hop")).to_have_count(1)
    await expect(page.get_by_test_id("hop")).to_have_attribute("data-server", "tickets")


async def test_a_call_is_made_again(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": COUNT})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-replay").click()
    again = await replayed(page, call)
    newest = (await stage.calls(limit=1))[0]
    assert newest["id"] == again
    assert newest["sql"] == COUNT


async def test_a_call_is_made_again_with_other_arguments(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": COUNT})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-edit").click()
    editor = page.get_by_test_id("edit-arguments").get_by_role("textbox")
    await editor.click()
    await page.keyboard.press("ControlOrMeta+a")
    await page.keyboard.insert_text('{"query": "SELECT 42 AS answer"}')
    await page.get_by_test_id("edit-send").click()
    await replayed(page, call)
    assert (await stage.calls(limit=1))[0]["sql"] == "SELECT 42 AS answer"


async def test_a_destructive_call_is_made_again_only_after_a_question(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__close_ticket", {"ticket": "T-1042"})
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-replay").click()
    await expect(page.get_by_role("dialog")).to_be_visible()
    await page.get_by_role("dialog").get_by_role("button", name="Cancel").click()
    await expect(page.get_by_role("dialog")).to_be_hidden()
    assert (await stage.calls(limit=1))[0]["id"] == call
    await page.get_by_test_id("call-replay").click()
    await page.get_by_role("dialog").get_by_role("button").last.click()
    await replayed(page, call)
    assert (await stage.calls(limit=1))[0]["id"] != call


async def test_a_refused_call_says_why(page: Page, stage: Stage) -> None:
    call = await made(stage, "demo__query", {"query": "DROP TABLE shop.orders"})
    await page.goto(f"{stage.url}/calls/{call}")
    await expect(page.get_by_test_id("call-outcome")).to_contain_text("refused")
    await expect(page.get_by_test_id("call-page")).to_contain_text("refused.forbidden")


async def test_a_call_shows_the_annotations_its_tool_had_then(page: Page, stage: Stage) -> None:
    call = await made(stage, "tickets__summarize", {"ticket": "T-1041"})
    await page.goto(f"{stage.url}/calls/{call}")
    for hint in ("readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"):
        badge = page.get_by_test_id("call-page").locator(f'[data-hint="{hint}"]')
        await expect(badge).to_have_attribute("data-state", "default")


async def test_a_tool_that_wrote_though_declared_read_only_is_warned_about(
    page: Page, tmp_path: Path
) -> None:
    sql = "UPDATE shop.orders SET status = 'shipped'"
    facts = StatementFacts("demo", sql, "UPDATE", "write", "allow", rows=3)
    call = PastCall(1, time.time() - 60, 2.0, "demo", "query", {"query": sql}, {"content": []}, facts=facts)
    await write_past(tmp_path, [(PastSession(1, "agent", "1", call.at_s - 1), [call])])
    async with open_stage(tmp_path) as stage:
        recorded = (await stage.calls())[0]["id"]
        await page.goto(f"{stage.url}/calls/{recorded}")
        await expect(page.get_by_test_id("wrote-warning")).to_be_visible()
        await page.close()


async def test_a_call_that_is_not_in_the_record_says_so(page: Page, stage: Stage, watch: PageWatch) -> None:
    watch.tolerate("404")
    await page.goto(f"{stage.url}/calls/00000000-0000-7000-8000-000000000000")
    await expect(page.get_by_test_id("error-state")).to_be_visible()


async def replayed(page: Page, call: str) -> str:
    """The id of the new call, shown on the page or by the address it went to."""
    await page.wait_for_function(
        """(before) => {
          const shown = document.querySelector('[data-testid="replay-result"]')?.dataset.callId;
          const here = document.querySelector('[data-testid="call-page"]')?.dataset.callId;
          return (shown && shown !== before) || (here && here !== before);
        }""",
        arg=call,
    )
    return await page.evaluate(
        """(before) => document.querySelector('[data-testid="replay-result"]')?.dataset.callId
          ?? document.querySelector('[data-testid="call-page"]').dataset.callId""",
        call,
    )
