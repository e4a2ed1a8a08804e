"""Settings, and servers that are added, disabled and removed on the page."""

import asyncio
import http.server
import json
import sys
import threading
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from browser.axe import expect_it_fits_a_phone, expect_nothing_serious_in_either_theme
from browser.browser_stage import TICKETS, Stage, open_stage
from browser.page_watch import PageWatch
from playwright.async_api import Locator, Page, expect

pytestmark = pytest.mark.asyncio(loop_scope="session")

ENTRY = json.dumps(
    {"mcpServers": {"Help desk": {"command": sys.executable, "args": ["-E", "-S", str(TICKETS)]}}}
)
WATCHER = "4c81d7e09b3f5a26"


@pytest_asyncio.fixture(loop_scope="session")
async def edited(tmp_path: Path, page: Page) -> AsyncIterator[Stage]:
    async with open_stage(tmp_path, "max_offers = 500  # enough") as stage:
        yield stage
        await page.close()


def file_of(stage: Stage) -> str:
    return (stage.gateway.state / "callgate.toml").read_text()


def setting(page: Page, key: str) -> Locator:
    return page.locator(f'[data-testid="setting"][data-key="{key}"]')


async def fits_a_phone_and_axe(page: Page) -> None:
    await expect_nothing_serious_in_either_theme(page)
    await expect_it_fits_a_phone(page)
    await page.set_viewport_size({"width": 1440, "height": 900})


async def test_a_pasted_entry_is_tried_added_and_its_tool_called(
    page: Page, edited: Stage, watch: PageWatch
) -> None:
    watch.tolerate("404")  # the page of a server that is being disabled or removed
    before = file_of(edited)
    await page.goto(f"{edited.url}/servers")
    await page.get_by_test_id("add").click()
    await page.get_by_test_id("add-text").fill(ENTRY)
    await page.get_by_test_id("add-try").click()
    await expect(page.get_by_test_id("probe-result")).to_have_attribute("data-reachable", "true")
    await expect(page.get_by_test_id("probe-tool").filter(has_text="search_tickets")).to_be_visible()
    await expect(page.get_by_test_id("config-diff")).to_contain_text("[mcpServers.help-desk]")
    await fits_a_phone_and_axe(page)
    assert file_of(edited) == before, "it is only tried"
    await page.get_by_test_id("add-name").fill("desk")
    await page.get_by_test_id("add-save").click()
    await expect(page).to_have_url(f"{edited.url}/servers/desk")
    await expect(page.get_by_test_id("server-page")).to_have_attribute("data-state", "up")
    assert file_of(edited).startswith(before)
    await page.locator('[data-tool="desk__search_tickets"]').get_by_test_id("try-tool").click()
    await page.get_by_test_id("try-form").get_by_label("text").fill("typo")
    await page.get_by_test_id("try-submit").click()
    await expect(page.get_by_test_id("try-result")).to_contain_text("shipping mail")
    # Left out, back again, and gone.
    await page.get_by_test_id("disable-server").click()
    await expect(page.get_by_test_id("config-diff")).to_contain_text("+disabled = true")
    await page.get_by_test_id("confirm-ok").click()
    await expect(page.get_by_test_id("disabled-servers")).to_contain_text("desk")
    await expect(page.locator("[data-server=desk]")).to_have_count(0)
    await page.get_by_test_id("enable-server").click()
    await expect(page.locator("[data-server=desk]")).to_have_attribute("data-state", "up")
    await page.locator("[data-server=desk]").get_by_test_id("server-open").click()
    await page.get_by_test_id("remove-server").click()
    await page.get_by_test_id("confirm-ok").click()
    await expect(page).to_have_url(f"{edited.url}/servers")
    await expect(page.locator("[data-server=desk]")).to_have_count(0)
    assert file_of(edited) == before


async def test_what_cannot_be_read_or_reached_is_told(page: Page, edited: Stage, watch: PageWatch) -> None:
    watch.tolerate("400")
    await page.goto(f"{edited.url}/servers")
    await page.get_by_test_id("add").click()
    await page.get_by_test_id("add-text").fill("{")
    await page.get_by_test_id("add-try").click()
    await expect(page.get_by_test_id("config-trouble")).to_have_attribute("data-code", "caller.bad_params")
    await page.get_by_test_id("add-text").fill("http://127.0.0.1:9/mcp")
    await page.get_by_test_id("add-try").click()
    await expect(page.get_by_test_id("probe-finding").first).to_have_attribute("data-severity", "problem")


async def test_a_value_is_checked_shown_as_lines_and_saved(
    page: Page, edited: Stage, watch: PageWatch
) -> None:
    watch.tolerate("422")
    await page.goto(f"{edited.url}/settings")
    row = setting(page, "server.max_offers")
    await expect(row.get_by_test_id("setting-origin")).to_contain_text("file, line 4")
    await expect(setting(page, "record.keep").get_by_test_id("setting-origin")).to_have_text("default")
    await fits_a_phone_and_axe(page)
    await row.get_by_test_id("edit-setting").click()
    await row.get_by_role("textbox").fill("none")
    await row.get_by_test_id("check-setting").click()
    await expect(row.get_by_test_id("config-trouble")).to_contain_text("server.max_offers")
    await row.get_by_role("textbox").fill("600")
    await row.get_by_test_id("check-setting").click()
    await expect(row.get_by_test_id("config-diff")).to_contain_text("+max_offers = 600  # enough")
    await fits_a_phone_and_axe(page)
    await row.get_by_test_id("save-setting").click()
    await expect(page.get_by_test_id("config-saved")).to_contain_text("server.max_offers")
    await expect(row.get_by_test_id("setting-value")).to_have_text("600")
    assert "max_offers = 600  # enough" in file_of(edited)


async def test_who_comes_second_is_told_and_sees_what_the_file_says_now(
    page: Page, edited: Stage, watch: PageWatch
) -> None:
    watch.tolerate("412")
    await page.goto(f"{edited.url}/settings")
    row = setting(page, "record.keep")
    await row.get_by_test_id("edit-setting").click()
    await row.get_by_role("textbox").fill("9d")
    path = edited.gateway.state / "callgate.toml"
    # The gateway notices by itself after a second: then there is nothing to be told.
    await page.route("**/api/v1/events*", lambda route: route.abort())
    path.write_text(path.read_text() + '[policy]\ndestructive = "deny"\n')
    await row.get_by_test_id("check-setting").click()
    await expect(page.get_by_test_id("config-stale")).to_be_visible()
    await expect(setting(page, "policy.destructive").get_by_test_id("setting-value")).to_have_text("deny")
    await row.get_by_test_id("check-setting").click()
    await row.get_by_test_id("save-setting").click()
    await expect(page.get_by_test_id("config-saved")).to_be_visible()
    assert 'destructive = "deny"' in file_of(edited)
    assert 'keep = "9d"' in file_of(edited)


async def test_a_file_that_is_broken_by_hand_is_told_on_every_page_until_it_is_mended(
    page: Page, edited: Stage, watch: PageWatch
) -> None:
    watch.tolerate("422")
    file, good = edited.gateway.state / "callgate.toml", file_of(edited)
    await page.goto(f"{edited.url}/servers")
    await expect(page.locator("[data-server=tickets]")).to_be_visible()
    file.write_text(good + "[record\n")
    badge = page.get_by_test_id("top-config")
    await expect(badge).to_be_visible()
    await expect_nothing_serious_in_either_theme(page)
    await badge.click()
    await expect(page.get_by_test_id("config-problem")).to_contain_text("line")
    row = setting(page, "record.keep")
    await row.get_by_test_id("edit-setting").click()
    await row.get_by_role("textbox").fill("9d")
    await row.get_by_test_id("check-setting").click()
    await expect(row.get_by_test_id("config-trouble")).to_have_attribute("data-code", "caller.bad_config")
    await expect(page.get_by_test_id("config-problem")).to_be_in_viewport()
    file.write_text(good)
    await expect(page.get_by_test_id("config-problem")).to_have_count(0)
    await expect(badge).to_have_count(0)
    await row.get_by_test_id("check-setting").click()
    await row.get_by_test_id("save-setting").click()
    await expect(page.get_by_test_id("config-saved")).to_be_in_viewport()


async def test_who_only_watches_is_offered_no_change(page: Page, tmp_path: Path, watch: PageWatch) -> None:
    watch.tolerate("401")
    more = f'[principals.watcher]\ntoken = "{WATCHER}"\nrole = "watch"\n'
    async with open_stage(tmp_path, 'tokens = ["a-token-of-thirty-two-characters"]', more=more) as stage:
        await page.goto(f"{stage.url}/servers")
        await page.get_by_label("One of [server] tokens").fill(WATCHER)
        await page.get_by_role("button", name="Use it").click()
        await expect(page.locator("[data-server=tickets]")).to_be_visible()
        await expect(page.get_by_test_id("add")).to_have_count(0)
        await expect(page.get_by_role("navigation").get_by_role("link", name="Settings")).to_have_count(0)
        await page.goto(f"{stage.url}/servers/tickets")
        await expect(page.get_by_test_id("server-page")).to_be_visible()
        await expect(page.get_by_test_id("remove-server")).to_have_count(0)
        await page.close()


class _Page(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/html")
        self.end_headers()
        self.wfile.write(b"<title>elsewhere</title>")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the library calls it
        pass


ATTACK = """async ([url, digest]) => {
  const patch = JSON.stringify({set: {'record.keep': '1d'}})
  const tries = []
  for (const mode of ['cors', 'no-cors'])
    for (const type of ['application/json', 'text/plain'])
      for (const [method, path, body] of [
        ['PATCH', '/api/v1/config', patch], ['POST', '/api/v1/config', patch],
        ['POST', '/api/v1/servers/probe', JSON.stringify({text: 'touch stolen'})],
        ['POST', '/api/v1/reload', '{}'],
      ])
        tries.push(fetch(url + path, {
          method, mode, body, headers: {'content-type': type, 'if-match': digest},
        }).then((answer) => answer.type === 'opaque' ? 'opaque' : answer.status, () => 'blocked'))
  const form = document.createElement('form')
  Object.assign(form, {method: 'POST', enctype: 'text/plain', target: 'away'})
  form.action = url + '/api/v1/servers/probe'
  form.innerHTML = `<input name='{"text": "touch stolen", "x": "' value='"}'>`
  const frame = document.createElement('iframe')
  frame.name = 'away'
  document.body.append(frame, form)
  const sent = new Promise((resolve) => frame.addEventListener('load', resolve))
  form.submit()
  await sent
  return Promise.all(tries)
}"""


async def test_a_page_of_another_origin_can_change_nothing(
    page: Page, edited: Stage, watch: PageWatch
) -> None:
    for word in ("CORS", "40", "ERR_FAILED", "another", "blocked", "Failed"):
        watch.tolerate(word)
    config = await edited.gateway.get("/api/v1/config")
    before = file_of(edited)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        other = await page.context.new_page()
        await other.goto(f"http://127.0.0.1:{server.server_port}/")
        answers = await other.evaluate(ATTACK, [edited.url, f'"{config["digest"]}"'])
        await other.close()
    finally:
        await asyncio.to_thread(server.shutdown)
        server.server_close()
    assert set(answers) <= {"blocked", "opaque"}
    assert file_of(edited) == before
    assert not (edited.gateway.state / "stolen").exists()
    rows = (await edited.gateway.get("/api/v1/exchanges?limit=100"))["exchanges"]
    assert [row["method"] for row in rows if row["method"].startswith("operator/")] == []
