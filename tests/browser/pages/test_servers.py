"""Servers: what stands behind the gateway, what it says of itself, and trying it."""

from pathlib import Path

import pytest
from browser.browser_stage import Stage, open_stage
from playwright.async_api import Locator, Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def open_server(page: Page, stage: Stage, name: str, tab: str = "tools") -> None:
    await page.goto(f"{stage.url}/servers/{name}?tab={tab}")
    await expect(page.get_by_test_id("server-page")).to_have_attribute("data-state", "up")


def tool_row(page: Page, name: str) -> Locator:
    return page.locator(f'[data-testid="tool-row"][data-tool$="{name}"]')


@pytest.mark.parametrize(
    ("tool", "states"),
    [
        (
            "search_tickets",
            {"readOnlyHint": "declared", "openWorldHint": "denied", "destructiveHint": "default"},
        ),
        (
            "close_ticket",
            {"readOnlyHint": "denied", "destructiveHint": "declared", "openWorldHint": "denied"},
        ),
        ("summarize", dict.fromkeys(("readOnlyHint", "destructiveHint", "openWorldHint"), "default")),
    ],
)
async def test_the_badges_of_a_tool_tell_declared_denied_and_default_apart(
    page: Page, stage: Stage, tool: str, states: dict[str, str]
) -> None:
    await open_server(page, stage, "tickets")
    for hint, state in states.items():
        badge = tool_row(page, tool).locator(f'[data-hint="{hint}"]').first
        await expect(badge).to_have_attribute("data-state", state)


async def test_a_tool_is_tried_from_a_form_made_of_its_schema(page: Page, stage: Stage) -> None:
    await open_server(page, stage, "tickets")
    await tool_row(page, "search_tickets").get_by_test_id("try-tool").click()
    await page.get_by_test_id("try-form").get_by_label("text").fill("typo")
    await page.get_by_test_id("try-submit").click()
    await expect(page.get_by_test_id("try-result")).to_contain_text("shipping mail")


async def test_the_last_lines_of_a_servers_stderr_are_shown(page: Page, stage: Stage) -> None:
    await open_server(page, stage, "tickets", "stderr")
    await expect(page.get_by_test_id("stderr-tail")).to_contain_text("tickets 1.4.2 is ready")


async def test_the_schema_of_a_source_is_browsed_down_to_its_columns(page: Page, stage: Stage) -> None:
    await open_server(page, stage, "demo", "schema")
    browser = page.get_by_test_id("schema-browser")
    await browser.locator('[data-testid="schema-node"][data-name="orders"]').click()
    await expect(browser).to_contain_text("customer_id")


async def test_the_top_bar_names_the_servers_that_are_down_first(page: Page, tmp_path: Path) -> None:
    """However many there are: the last of the configuration is down here."""
    more = "".join(f'[[sources]]\nid = "db{n}"\ndsn = "sqlite:///shop.db?schema=shop"\n' for n in range(7))
    broken = '[mcpServers.broken]\ncommand = "/bin/false"\n'
    async with open_stage(tmp_path, more=more + broken) as stage:
        await page.goto(f"{stage.url}/")
        named = page.get_by_test_id("top-server")
        await expect(named.first).to_have_attribute("data-state", "down")
        await expect(named.first).to_contain_text("broken")
        await expect(named).to_have_count(6)
        for width in (1440, 800):
            await page.set_viewport_size({"width": width, "height": 900})
            await expect(named.first).to_be_visible()
        await page.close()
