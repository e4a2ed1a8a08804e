"""From nothing on the page: a gateway without a file gets its first server by pasting."""

import json
import sys
from pathlib import Path

import pytest
from browser.axe import expect_nothing_serious_in_either_theme
from browser.browser_stage import TICKETS
from browser.page_watch import PageWatch
from end_to_end.gateway_process import running_gateway
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

SECRET = "hunter2-swordfish-4711"
SCANNED = Path(__file__).parents[2] / "cli" / "scanned_server.py"


def entry(program: Path) -> str:
    args = ["-E", "-S", str(program)]
    desk = {"command": sys.executable, "args": args, "env": {"DESK_API_KEY": SECRET}}
    return json.dumps({"mcpServers": {"desk": desk}})


async def test_a_pasted_entry_becomes_the_first_file_and_its_tool_answers(
    page: Page, tmp_path: Path, watch: PageWatch
) -> None:
    watch.tolerate("404")  # its page, until it is up
    async with running_gateway(tmp_path) as gateway:
        url = gateway.announced["url"]
        assert (await gateway.get("/api/v1/config"))["file"] is None
        await page.goto(f"{url}/servers")
        await expect(page.locator("[data-server=demo]")).to_be_visible()
        await page.get_by_test_id("add").click()
        await page.get_by_test_id("add-text").fill(entry(TICKETS))
        await page.get_by_test_id("add-try").click()
        await expect(page.get_by_test_id("probe-result")).to_have_attribute("data-reachable", "true")
        await expect(page.get_by_test_id("probe-kept")).to_contain_text("secret:desk-api-key")
        await expect(page.get_by_test_id("config-diff")).to_contain_text("secret:desk-api-key")
        await page.get_by_test_id("add-save").click()
        await expect(page).to_have_url(f"{url}/servers/desk")
        await expect(page.get_by_test_id("server-page")).to_have_attribute("data-state", "up")
        await page.locator('[data-tool="desk__search_tickets"]').get_by_test_id("try-tool").click()
        await page.get_by_test_id("try-form").get_by_label("text").fill("typo")
        await page.get_by_test_id("try-submit").click()
        await expect(page.get_by_test_id("try-result")).to_contain_text("shipping mail")
        made = Path((await gateway.get("/api/v1/config"))["file"])
        assert made.name == "callgate.toml"
        assert "[mcpServers.desk]" in made.read_text()
        assert SECRET not in made.read_text()
        await page.close()


async def test_what_the_scan_finds_is_shown_before_it_is_added(
    page: Page, tmp_path: Path, watch: PageWatch
) -> None:
    async with running_gateway(tmp_path) as gateway:
        await page.goto(f"{gateway.announced['url']}/servers")
        await page.get_by_test_id("add").click()
        await page.get_by_test_id("add-text").fill(entry(SCANNED))
        await page.get_by_test_id("add-try").click()
        found = page.get_by_test_id("scan-finding").first
        await expect(found).to_have_attribute("data-holds", "true")
        await expect(found).to_contain_text("helper")
        await expect(page.get_by_test_id("probe-result")).to_contain_text("1 destructive, 1 declare nothing")
        await expect_nothing_serious_in_either_theme(page)
        await page.close()
