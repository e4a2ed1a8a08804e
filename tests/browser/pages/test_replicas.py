"""Replicas: who lives, what differs, and what is down where; nothing of it when the gateway is alone."""

from pathlib import Path

import pytest
from browser.browser_stage import Stage, open_stage
from databases.database import Database
from databases.postgres import new_database
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

SERVER = 'state_key = "8d41f0c7b29e6a35d07c1f84be52a963"\ndrain = "0s"'
BROKEN = '[mcpServers.files]\ncommand = "/bin/false"\n'


async def test_the_replicas_of_a_gateway_are_listed_with_what_is_wrong_at_each(
    page: Page, postgres: Database, tmp_path: Path
) -> None:
    database = new_database(postgres, "page")
    joined = (
        f'[replicas]\ndatabase = "{database.dsn}"\nlisten = "127.0.0.1:0"\n[record]\nstore = "postgres"\n'
    )
    folders = [tmp_path / "first", tmp_path / "second"]
    for folder in folders:
        folder.mkdir(mode=0o700)
    async with (
        open_stage(folders[0], SERVER, more=joined) as first,
        open_stage(folders[1], SERVER, more=joined + BROKEN) as _,
    ):
        # As if both had been there for a while: what differs is named after a minute.
        database.run("UPDATE callgate_replicas.replicas SET started_at = started_at - interval '5 minutes'")
        await page.goto(f"{first.url}/servers")
        listed = page.get_by_test_id("replicas")
        rows = listed.get_by_test_id("replica-row")
        await expect(rows).to_have_count(2)
        await expect(rows.nth(0)).to_contain_text("this one")
        await expect(rows.nth(0)).to_contain_text("serving")
        await expect(rows.nth(0)).to_contain_text("up to date")
        await expect(rows.nth(1)).to_contain_text("files down")
        await expect(rows.nth(1)).to_contain_text("other configuration")
        await expect(page.get_by_test_id("replica-problems")).to_contain_text(
            "Give all replicas the same file"
        )
        await page.close()


async def test_a_gateway_that_is_alone_shows_no_replicas(page: Page, stage: Stage) -> None:
    async with page.expect_response("**/api/v1/replicas") as answered:
        await page.goto(f"{stage.url}/servers")
    assert (await (await answered.value).json())["total"] == 0
    await expect(page.get_by_test_id("server-card").first).to_be_visible()
    await expect(page.get_by_test_id("replicas")).to_have_count(0)
