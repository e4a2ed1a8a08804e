"""What answers hold: tables, Markdown, sound, files, resources and prompts; and answers compared."""

import sys
from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any, Literal

import pytest
import pytest_asyncio
from browser.axe import serious_findings
from browser.browser_stage import Stage, open_stage
from browser.content_server import ELSEWHERE
from browser.page_watch import PageWatch
from browser.sight import expect_loaded
from playwright.async_api import Dialog, Download, Locator, Page, Route, expect
from waiting import until

pytestmark = pytest.mark.asyncio(loop_scope="session")

CONTENT = Path(__file__).parents[1] / "content_server.py"
Theme = Literal["light", "dark"]
ORDERS = "SELECT id, status, ordered_at FROM shop.orders ORDER BY id LIMIT 120"


@pytest_asyncio.fixture(loop_scope="session", scope="module")
async def content(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[tuple[Stage, Path]]:
    """A gateway with a server that has everything, and one whose program is not there yet."""
    folder = tmp_path_factory.mktemp("content")
    more = (
        f'[mcpServers.content]\ncommand = "{sys.executable}"\n'
        f'args = ["-E", "-S", "{CONTENT}", "--token=hunter2"]\n'
        f'[mcpServers.late]\ncommand = "{folder}/late"\n'
    )
    async with open_stage(folder, more=more) as stage:
        yield stage, folder


async def made(stage: Stage, tool: str, **arguments: Any) -> str:
    async with stage.client() as client:
        await client.call_tool(tool, arguments)
    return (await stage.calls(limit=1))[0]["id"]


async def check(page: Page, themes: Sequence[Theme] = ("light",)) -> None:
    """Nothing serious, and no scrolling sideways on a phone. Both themes only where there are colours of its
    own: each look of axe costs a second."""
    for theme in themes:
        await page.emulate_media(color_scheme=theme)
        await expect_loaded(page)
        assert (theme, await serious_findings(page)) == (theme, [])
    size = page.viewport_size
    assert size is not None
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.scrollingElement.scrollWidth <= 360")
    await page.set_viewport_size(size)


def cells(table: Locator, column: int) -> Locator:
    """Of the data, from left to right; the first column has the row's number."""
    return table.locator(f"tbody tr[class*=group] td:nth-child({column + 1})")


async def test_markdown_of_a_stranger_is_read_and_nothing_of_it_runs(
    page: Page, content: tuple[Stage, Path], watch: PageWatch
) -> None:
    stage, _ = content
    dialogs: list[Dialog] = []
    page.on("dialog", lambda one: dialogs.append(one))
    await page.goto(f"{stage.url}/calls/{await made(stage, 'content__report')}")
    result = page.get_by_test_id("call-result")
    await expect(result.get_by_role("heading", name="Report")).to_be_visible()
    await expect(result.locator("strong")).to_have_text("Bold")
    await expect(result.get_by_role("listitem")).to_have_text(["one", "two with code"])
    await expect(result).to_contain_text("<script>window.hacked = 1</script>")  # as it is written
    await expect(result).to_contain_text("picture: a pixel (not loaded)")
    assert (
        await result.locator("script, iframe, style, form, img, [onclick], [onerror], [onfocus]").count() == 0
    )
    addresses = await result.locator("a").evaluate_all("all => all.map(one => one.href)")
    assert addresses == [f"{ELSEWHERE}/page", f"{ELSEWHERE}/auto", f"{ELSEWHERE}/pixel.png"]
    relations = await result.locator("a").evaluate_all("all => all.map(one => [one.rel, one.target])")
    assert all("noreferrer" in rel and target == "_blank" for rel, target in relations)
    await result.get_by_text("bad link").click()
    await result.get_by_text("raw link").click()
    await expect(cells(result.get_by_test_id("result-table"), 2)).to_have_text(["1.5\u00a0", "20.25"])
    await check(page, ("light", "dark"))
    assert await page.evaluate("() => window.hacked") is None
    assert dialogs == []
    assert not [url for url in watch.requested if "elsewhere" in url]


async def test_sound_of_an_answer_is_played_from_memory(page: Page, content: tuple[Stage, Path]) -> None:
    stage, _ = content
    await page.goto(f"{stage.url}/calls/{await made(stage, 'content__speak')}")
    sound = page.get_by_test_id("audio")
    await expect(sound).to_be_visible()
    await page.wait_for_function("() => document.querySelector('audio').duration > 0.4")
    assert str(await sound.get_attribute("src")).startswith("blob:")
    await check(page)


async def test_files_in_a_table_are_named_and_open_on_demand_and_links_open_through_the_gateway(
    page: Page, content: tuple[Stage, Path], watch: PageWatch
) -> None:
    stage, _ = content
    await page.goto(f"{stage.url}/calls/{await made(stage, 'content__files')}")
    table = page.get_by_test_id("result-table")
    await expect(cells(table, 2)).to_have_text(["image/png, 70 B", "NULL"])
    await expect(cells(table, 3)).to_have_text(["9.5", "120\u00a0\u00a0"])
    await page.get_by_role("button", name="Open row 1").click()
    panel = page.get_by_test_id("row-panel")
    await expect(panel).to_contain_text('"name": "logo.png"')
    await expect(panel.locator("img")).to_have_count(0)
    await panel.get_by_role("button", name="Show").click()
    await expect(panel.locator("img")).to_be_visible()
    await check(page)
    await panel.get_by_role("button", name="Next row").click()
    await expect(panel).to_contain_text('"name": "x"')
    await page.keyboard.press("Escape")
    await expect(panel).to_be_hidden()
    link = page.get_by_test_id("resource-link")
    await link.get_by_role("button", name="Open").click()
    await expect(
        link.get_by_test_id("resource-content").get_by_role("heading", name="Report")
    ).to_be_visible()
    await link.get_by_role("link", name="Open the request").click()
    await expect(page.get_by_role("heading", name="resources/read")).to_be_visible()
    assert await page.evaluate("() => window.hacked") is None
    assert not [url for url in watch.requested if "elsewhere" in url]


async def test_an_opened_row_stays_open_when_the_call_is_read_again(
    page: Page, content: tuple[Stage, Path]
) -> None:
    """As it is when its tokens were counted, or it has settled."""
    stage, _ = content

    async def as_if_running(route: Route) -> None:
        answer = await route.fetch()
        await route.fulfill(response=answer, json={**await answer.json(), "outcome": None})

    await page.route("**/api/v1/exchanges/*", as_if_running, times=1)
    await page.goto(f"{stage.url}/calls/{await made(stage, 'content__files')}")
    async with page.expect_response("**/api/v1/exchanges/*") as again:
        await page.get_by_role("button", name="Open row 1").click()
        await expect(page.get_by_test_id("row-panel")).to_be_visible()
    await (await again.value).finished()
    await expect(page.locator("[data-testid=call-outcome] [data-outcome=answered]")).to_be_attached()
    await expect(page.get_by_test_id("row-panel")).to_be_visible()


async def test_a_table_is_sorted_searched_resized_opened_and_downloaded(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, _ = content
    await page.goto(f"{stage.url}/calls/{await made(stage, 'demo__query', query=ORDERS)}")
    table = page.get_by_test_id("result-table")
    first = cells(table, 1).first
    await expect(first).to_have_text("1")
    head = table.get_by_role("button", name="id", exact=True)
    await head.click()
    await head.click()
    await expect(first).to_have_text("120")
    await expect(table.get_by_role("columnheader", name="id")).to_have_attribute("aria-sort", "descending")
    column = table.get_by_role("columnheader", name="status")
    before = (await column.bounding_box() or {})["width"]
    await table.get_by_role("button", name="status").press("Alt+ArrowRight")
    await page.wait_for_function(
        "([head, before]) => head.getBoundingClientRect().width > before + 10",
        arg=[await column.element_handle(), before],
    )
    edge = await column.get_by_test_id("column-edge").bounding_box()
    assert edge is not None
    await page.mouse.move(edge["x"] + 4, edge["y"] + 4)
    await page.mouse.down()
    await page.mouse.move(edge["x"] + 204, edge["y"] + 4, steps=4)
    await page.mouse.up()
    await page.wait_for_function(
        "([head, before]) => head.getBoundingClientRect().width > before + 180",
        arg=[await column.element_handle(), before],
    )
    await page.get_by_test_id("table-find").fill("cancelled")
    count = page.get_by_test_id("table-count")
    await expect(count).to_contain_text("of 120 rows")
    found = int(str(await count.text_content()).split()[0])
    assert 0 < found < 120
    assert set(await cells(table, 2).all_text_contents()) == {"cancelled"}
    async with page.expect_download() as saved:
        await page.get_by_test_id("download-csv").click()
    lines = (await text_of(await saved.value)).split("\r\n")
    assert (lines[0], len(lines)) == ('"id","status","ordered_at"', found + 1)
    await cells(table, 2).first.click()
    await expect(page.get_by_test_id("row-panel")).to_contain_text('"status": "cancelled"')
    await check(page)


async def text_of(download: Download) -> str:
    return Path(await download.path()).read_bytes().decode()


async def test_an_edited_replay_is_compared_with_the_recorded_answer_row_by_row(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, _ = content
    call = await made(stage, "content__stock", day=1)
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-edit").click()
    await page.get_by_test_id("edit-arguments").get_by_label("day").fill("2")
    await page.get_by_test_id("edit-send").click()
    result = page.get_by_test_id("replay-result")
    await expect(result.get_by_test_id("difference-words")).to_have_text("1 row added, 1 row changed")
    rows = result.locator("tbody tr[class*=group]")
    await expect(rows.nth(0)).to_contain_text("changed")
    await expect(rows.nth(0)).to_contain_text("7 → 14")
    await expect(rows.nth(1)).to_contain_text("added")
    await expect(rows.nth(1)).to_contain_text("gear")
    await check(page, ("light", "dark"))
    again = str(await result.get_attribute("data-call-id"))
    assert page.url.endswith(call)
    await result.get_by_role("link", name="Open the call").click()
    await expect(page.get_by_test_id("call-page")).to_have_attribute("data-call-id", again)


async def test_texts_are_compared_line_by_line_and_the_same_answer_says_so(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, _ = content
    call = await made(stage, "content__echo", text="one\ntwo\nthree")
    await page.goto(f"{stage.url}/calls/{call}")
    await page.get_by_test_id("call-edit").click()
    field = page.get_by_test_id("edit-arguments").get_by_label("text")
    await page.get_by_test_id("edit-send").click()
    words = page.get_by_test_id("difference-words")
    await expect(words).to_contain_text("No difference")
    await field.fill("one\n2\nthree")
    await page.get_by_test_id("edit-send").click()
    await expect(words).to_have_text("1 line added, 1 line removed")
    marked = page.get_by_test_id("difference").get_by_role("listitem")
    await expect(marked).to_have_text(["−removed:two", "+added:2"])


async def test_resources_and_prompts_of_a_server_are_listed_and_tried(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, _ = content
    await page.goto(f"{stage.url}/servers/content?tab=resources")
    resources = page.get_by_test_id("resource-row")
    await expect(resources).to_have_count(2)
    await resources.filter(has_text="notes://logo").get_by_role("button", name="Open").click()
    await expect(resources.locator("img")).to_be_visible()
    template = page.get_by_test_id("resource-template")
    await template.get_by_label("day").fill("mon day")
    await template.get_by_label("topic").fill("tea")
    await template.get_by_role("button", name="Open").click()
    await expect(template.get_by_role("heading", name="Note of notes://mon%20day/tea")).to_be_visible()
    await check(page)
    await page.get_by_role("tab", name="Prompts").click()
    prompt = page.get_by_test_id("prompt")
    await prompt.get_by_role("button", name="Get").click()
    await expect(prompt).to_contain_text("topic is needed")
    await prompt.get_by_label("topic").fill("tea")
    await prompt.get_by_role("button", name="Get").click()
    await expect(prompt.get_by_test_id("prompt-result")).to_contain_text("Review tea, kindly.")
    await expect(prompt.get_by_test_id("prompt-role")).to_have_text("user")
    await check(page)
    await page.goto(f"{stage.url}/servers/content?tool=content__report")
    await expect(page.get_by_test_id("tool-description").locator("strong")).to_have_text("report")


async def test_rows_of_a_table_are_seen_by_a_recorded_call_and_queried_from_there(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, _ = content
    await page.goto(f"{stage.url}/servers/demo?tab=schema&database=shop&table=customers")
    await page.get_by_test_id("preview-rows").click()
    preview = page.get_by_test_id("row-preview")
    await expect(preview.get_by_test_id("table-count")).to_have_text("50 rows")
    newest = (await stage.calls(limit=1))[0]
    assert (newest["tool"], newest["verdict"], newest["rows"]) == ("demo__query", "allow", 50)
    await check(page)
    await page.get_by_test_id("query-table").click()
    await expect(page.get_by_test_id("sql-argument")).to_contain_text("FROM shop.customers")
    await page.get_by_test_id("try-submit").click()
    await expect(page.get_by_test_id("try-result").get_by_test_id("result-table")).to_be_visible()


async def test_a_server_says_how_it_is_reached_what_is_wrong_and_is_tried_again_on_demand(
    page: Page, content: tuple[Stage, Path]
) -> None:
    stage, folder = content

    async def is_down() -> bool:
        return (await stage.gateway.get("/api/v1/servers/late"))["state"] == "down"

    await until(is_down)
    await page.goto(f"{stage.url}/servers")
    cards = page.get_by_test_id("server-card")
    shown = cards.filter(has_text="content_server.py").get_by_test_id("card-address")
    await expect(shown).to_contain_text("--token=")
    await expect(page.locator("main")).not_to_contain_text("hunter2")
    await page.goto(f"{stage.url}/servers/late?tab=health")
    await expect(page.get_by_test_id("server-address")).to_contain_text("/late")
    await expect(page.get_by_test_id("finding")).to_have_attribute("data-severity", "problem")
    await check(page)
    program = folder / "late"
    program.write_text(f"#!/bin/sh\nexec {sys.executable} -E -S {CONTENT}\n")
    program.chmod(0o755)
    await page.get_by_test_id("retry").click()
    await expect(page.get_by_test_id("server-page")).to_have_attribute("data-state", "up")
    await expect(page.get_by_test_id("finding")).to_have_attribute("data-severity", "none")
