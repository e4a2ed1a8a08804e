"""Connect: what to write into each client, and whether it has called."""

import base64
import json
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from browser.browser_stage import Stage
from browser.sight import expect_connection
from mcp.types import Implementation
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")


async def open_client(page: Page, stage: Stage, name: str) -> None:
    await page.goto(f"{stage.url}/connect")
    await page.get_by_role("navigation", name="Clients").get_by_role("link", name=name).click()
    await expect(page.get_by_role("heading", name=name)).to_be_visible()


async def test_an_entry_is_copied_as_it_is_shown_and_leads_to_this_gateway(page: Page, stage: Stage) -> None:
    await page.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=stage.url)
    await open_client(page, stage, "Claude Code")
    await page.get_by_role("button", name="Copy entry").click()
    await expect(page.get_by_role("button", name="Copy entry")).to_contain_text("Copied")
    entry = json.loads(await page.evaluate("() => navigator.clipboard.readText()"))
    assert entry["mcpServers"]["callgate"] == {"type": "http", "url": f"{stage.url}/mcp"}
    assert json.loads(await page.get_by_role("region", name="entry").inner_text()) == entry


async def test_the_command_that_writes_the_entry_is_told_where_it_can_write_one(
    page: Page, stage: Stage
) -> None:
    await open_client(page, stage, "Cursor")
    await expect(page.get_by_test_id("connect-command")).to_contain_text(
        "callgate connect cursor writes the entry"
    )
    await open_client(page, stage, "Goose")  # its file is YAML
    await expect(page.get_by_test_id("connect-command")).to_have_count(0)


async def test_links_open_the_client_with_the_same_entry(page: Page, stage: Stage) -> None:
    await open_client(page, stage, "Cursor")
    link = await page.get_by_test_id("client-link").get_attribute("href") or ""
    assert link.startswith("cursor://anysphere.cursor-deeplink/mcp/install?")
    config = parse_qs(urlsplit(link).query)["config"][0]
    assert json.loads(base64.b64decode(config)) == {"url": f"{stage.url}/mcp"}
    await open_client(page, stage, "VS Code")
    await expect(page).to_have_url(f"{stage.url}/connect?client=vscode")
    link = await page.get_by_test_id("client-link").get_attribute("href") or ""
    told = {"name": "callgate", "type": "http", "url": f"{stage.url}/mcp"}
    assert json.loads(unquote(link.removeprefix("vscode:mcp/install?"))) == told


async def test_a_client_is_waited_for_until_it_calls_and_others_do_not_count(
    page: Page, fresh_stage: Stage
) -> None:
    await page.goto(fresh_stage.url)
    await page.get_by_role("link", name="Connect a client").click()  # of the empty state
    await open_client(page, fresh_stage, "Cursor")
    await expect_connection(page, "live")
    seen = page.get_by_test_id("seen")
    await expect(seen).to_have_attribute("data-state", "waiting")
    async with fresh_stage.client(client_info=Implementation(name="claude-code", version="2")) as other:
        await fresh_stage.ask(other)
        done = page.get_by_role("link", name="Claude Code has called")
        await expect(done).to_be_visible()
        await expect(seen).to_have_attribute("data-state", "waiting")
    async with fresh_stage.client(client_info=Implementation(name="cursor-vscode", version="1")) as cursor:
        await fresh_stage.ask(cursor)
        await expect(seen).to_contain_text("Cursor has called")
    await page.reload()  # the record knows it too
    await expect(seen).to_contain_text("Cursor has called")
    await seen.get_by_role("link", name="Show its session").click()
    await expect(page.get_by_role("heading", name="cursor-vscode")).to_be_visible()
