"""Changed tools: the diff, what the scan found, and both answers side by side."""

from pathlib import Path

import pytest
from browser.axe import serious_findings
from browser.held_tools import held
from browser.sight import expect_loaded
from playwright.async_api import Locator, Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


def item(page: Page, name: str) -> Locator:
    return page.locator(f'[data-testid="changed-item"][data-name="{name}"]')


async def test_a_held_tool_is_shown_as_a_diff_and_accepted_or_blocked(page: Page, tmp_path: Path) -> None:
    async with held(tmp_path) as stage:
        await page.goto(f"{stage.url}/servers")
        card = page.locator('[data-testid="server-card"][data-server="calc"]')
        await expect(card.get_by_test_id("trust-mark")).to_have_text("2 held")
        await page.get_by_test_id("top-held").click()
        await expect(item(page, "add").locator("ins").first).to_contain_text("U+200B")
        await expect(item(page, "add").locator('[data-holds="true"]')).to_have_count(2)
        await expect(item(page, "add")).to_contain_text("file of secrets")
        await item(page, "sub").get_by_test_id("accept").click()
        await expect(item(page, "sub")).to_have_count(0)
        await item(page, "add").get_by_test_id("block").click()
        await expect(item(page, "add")).to_have_attribute("data-held", "false")
        await expect(page.get_by_test_id("top-held")).to_have_count(0)
        await page.goto(f"{stage.url}/servers/calc")
        await expect(page.locator('[data-testid="tool-row"]')).to_have_count(1)
        await page.close()


async def test_axe_finds_nothing_serious_and_a_phone_has_room_for_both_buttons(
    page: Page, tmp_path: Path
) -> None:
    async with held(tmp_path) as stage:
        await page.goto(f"{stage.url}/servers/calc?tab=changes")
        await expect(item(page, "add")).to_be_visible()
        for theme in ("light", "dark"):
            await page.emulate_media(color_scheme=theme)
            await expect_loaded(page)
            assert (theme, await serious_findings(page)) == (theme, [])
            await page.screenshot(path=str(tmp_path / f"{theme}.png"))
        await page.set_viewport_size({"width": 360, "height": 740})
        await page.wait_for_function("() => document.scrollingElement.scrollWidth <= 360")
        await expect(item(page, "add").get_by_test_id("accept")).to_be_in_viewport()
        await expect(item(page, "add").get_by_test_id("block")).to_be_in_viewport()
        await page.screenshot(path=str(tmp_path / "phone.png"))
        await page.close()
