"""What must hold for every page: it fits a phone, satisfies axe in both themes, and loads little."""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from browser.axe import THEMES, expect_it_fits_a_phone, expect_nothing_serious_in_either_theme
from browser.browser_stage import Stage, open_stage
from browser.page_watch import PageWatch
from browser.sight import expect_loaded, rows
from playwright.async_api import Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

PAGES = [
    "/",
    "/tool-calls",
    "/calls/{call}",
    "/sessions",
    "/sessions/{session}",
    "/servers",
    "/servers/demo",
    "/servers/tickets",
    "/servers/demo?tab=schema&database=shop&table=orders",
    "/analytics",
    "/query",
    "/connect",
    "/connect?client=other",
    "/settings",
    "/tool-calls?call={call}",
    "/tool-calls?order=slowest&server=demo&min_tokens=1",
]
# As it is sent, everything that is loaded before the page stands still: the whole of it, not just the entry.
MAX_FIRST_LOAD_BYTES = 250_000


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def lived_in(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, dict[str, str]]]:
    """A gateway with something of everything to show, and the names of one call and its session."""
    async with open_stage(tmp_path_factory.mktemp("lived-in")) as stage:
        async with stage.client(mode="legacy") as client:
            await client.call_tool("tickets__search_tickets", {"text": "cart"})
            await client.call_tool("tickets__summarize", {"ticket": "none"})
            await client.call_tool("demo__query", {"query": "DROP TABLE shop.orders"})
            await client.call_tool("demo__query", {"query": "SELECT * FROM shop.orders LIMIT 20"})
        newest = (await stage.calls(limit=1))[0]
        yield stage, {"call": newest["id"], "session": newest["session_id"]}


async def show(page: Page, stage: Stage, path: str) -> None:
    await page.goto(stage.url + path)
    await expect_loaded(page)


@pytest.mark.parametrize("path", PAGES)
async def test_axe_finds_nothing_serious_in_either_theme_and_a_phone_needs_no_scrolling_sideways(
    page: Page, lived_in: tuple[Stage, dict[str, str]], path: str
) -> None:
    stage, names = lived_in
    await show(page, stage, path.format(**names))
    await expect_nothing_serious_in_either_theme(page)
    await expect_it_fits_a_phone(page)


@pytest.mark.parametrize("opened", ["Find", "Saved"])
async def test_axe_finds_nothing_serious_in_what_opens_above_a_list_and_a_phone_has_room_for_it(
    page: Page, lived_in: tuple[Stage, dict[str, str]], opened: str
) -> None:
    stage, _ = lived_in
    await page.set_viewport_size({"width": 360, "height": 740})
    await show(page, stage, "/tool-calls?server=demo")
    await page.locator("button, summary").filter(has_text=opened).click()
    shown = page.locator("#palette-list" if opened == "Find" else "details[open] .panel")
    await expect(shown).to_be_visible()
    await expect_nothing_serious_in_either_theme(page)
    box = await shown.bounding_box()
    assert box is not None
    assert 0 <= box["x"] < box["x"] + box["width"] <= 360


async def test_the_first_load_is_small(page: Page, lived_in: tuple[Stage, dict[str, str]]) -> None:
    stage, _ = lived_in
    await show(page, stage, "/")
    await expect(rows(page).first).to_be_visible()
    loaded = await page.evaluate(
        """() => [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
          .filter(entry => !entry.name.includes('/api/'))
          .map(entry => [new URL(entry.name).pathname, entry.encodedBodySize])"""
    )
    total = sum(size for _, size in loaded)
    print(f"{total / 1000:.1f} kB in {len(loaded)} files before Live stands:", *sorted(loaded), sep="\n  ")
    assert total < MAX_FIRST_LOAD_BYTES


async def test_the_theme_is_the_systems_until_the_person_chooses(
    page: Page, lived_in: tuple[Stage, dict[str, str]]
) -> None:
    stage, _ = lived_in
    root = page.locator("html")
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme)
        await show(page, stage, "/")
        await expect(root).to_have_attribute("data-theme", f"callgate-{theme}")
    await page.get_by_role("button", name="Theme").click()
    await expect(root).to_have_attribute("data-theme", "callgate-light")
    await page.reload()
    await expect(root).to_have_attribute("data-theme", "callgate-light")


@pytest.mark.parametrize("path", ["/nowhere", "/calls", "/tool-cals?server=demo"])
async def test_an_address_that_does_not_exist_says_so_and_leads_back(
    page: Page, lived_in: tuple[Stage, dict[str, str]], watch: PageWatch, path: str
) -> None:
    watch.tolerate("404")
    stage, _ = lived_in
    answer = await page.goto(stage.url + path)
    assert answer is not None
    assert answer.status == 404
    await expect(page.get_by_role("heading", name="No such page")).to_be_visible()
    await page.get_by_role("link", name="Go to Live").click()
    await expect(rows(page).first).to_be_visible()
