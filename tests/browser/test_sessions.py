"""Sessions: who is here, who was, and what they did."""

import pytest
from browser.browser_stage import Stage
from browser.sight import expect_connection, expect_total
from playwright.async_api import Locator, Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


def session_row(page: Page, session_id: str) -> Locator:
    return page.locator(f'[data-testid="session-row"][data-session-id="{session_id}"]')


async def test_a_session_appears_counts_its_calls_and_closes_live(page: Page, stage: Stage) -> None:
    await page.goto(f"{stage.url}/sessions")
    await expect_connection(page, "live")
    async with stage.client(mode="legacy") as client:
        await stage.ask(client)
        session_id = (await stage.calls(limit=1))[0]["session_id"]
        row = session_row(page, session_id)
        await expect(row).to_have_attribute("data-calls", "1")
        await expect(row).not_to_have_attribute("data-status", "closed")
        await stage.ask(client)
        await expect(row).to_have_attribute("data-calls", "2")
    await expect(row).to_have_attribute("data-status", "closed")


async def test_a_session_has_a_lane_for_each_server_and_leads_to_its_calls(page: Page, stage: Stage) -> None:
    async with stage.client(mode="legacy") as client:
        await stage.ask(client)
        await client.call_tool("tickets__search_tickets", {"text": "cart"})
        session_id = (await stage.calls(limit=1))[0]["session_id"]
        await page.goto(f"{stage.url}/sessions")
        await session_row(page, session_id).get_by_role("link").first.click()
        await expect(page).to_have_url(f"{stage.url}/sessions/{session_id}")
        lanes = page.get_by_test_id("lane")
        await expect(lanes).to_have_count(2)
        names = await lanes.evaluate_all("lanes => lanes.map(lane => lane.dataset.server)")
        assert sorted(names) == ["demo", "tickets"]
    await expect(page.get_by_test_id("session-page")).to_have_attribute("data-status", "closed")
    await page.get_by_test_id("session-calls-link").click()
    await expect_total(page, 2)
