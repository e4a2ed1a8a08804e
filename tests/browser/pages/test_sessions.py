"""Sessions: who is here, who was, and what they did."""

import time
from datetime import datetime

import pytest
from browser.browser_stage import COUNT, Stage
from browser.sight import expect_connection, expect_total
from end_to_end.raw_clients import LegacyClient
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


async def test_the_axis_of_a_session_ends_with_it_however_long_ago_it_was(page: Page, stage: Stage) -> None:
    """Notifications have no duration: they are over at once, and do not run until now."""
    async with LegacyClient(stage.port, "/mcp") as client:
        await client.notify("notifications/roots/list_changed")
        await client.call("demo__query", {"query": COUNT})
        session_id = (await stage.calls(limit=1))[0]["session_id"]
        await client.end()
    line = await stage.gateway.get(f"/api/v1/sessions/{session_id}/timeline")
    assert [one["method"] for one in line["events"] if one["kind"] == "notification"]
    await page.clock.install(time=time.time() + 720)
    await page.goto(f"{stage.url}/sessions/{session_id}")
    await expect(page.get_by_test_id("session-page")).to_have_attribute("data-status", "closed")
    end_ms = float(await page.get_by_test_id("time-line").get_attribute("data-end-ms") or 0)
    lasted_ms = moment_ms(line["session"]["ended_at"]) - moment_ms(line["session"]["created_at"])
    assert lasted_ms <= end_ms < lasted_ms * 1.1 + 100
    await expect(page.get_by_role("list", name="Colours")).not_to_contain_text("running")


def moment_ms(text: str) -> float:
    return datetime.fromisoformat(text).timestamp() * 1000
