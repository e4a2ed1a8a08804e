"""A short walk through the page as an animation: calls arrive, one is refused, then each page."""

import base64
from pathlib import Path
from typing import Literal

from browser.animation import Frame, animated_webp
from browser.browser_stage import Stage
from browser.demo_past import NOW
from browser.sight import Waiting, expect_connection, rows
from mcp.types import Implementation
from playwright.async_api import Browser, Page, expect

STILL_MS = 30_000
WIDTH, HEIGHT = 1200, 750
QUALITY = 72
MAX_BYTES = 2_000_000
SHORT_MS, LONG_MS = 600, 2_000
_BY_STATUS = "SELECT status, count(*) AS orders FROM shop.orders GROUP BY status ORDER BY 2 DESC"
_LOW_STOCK = "SELECT name, stock FROM shop.products WHERE stock < 5 ORDER BY stock"
# What an agent asks for while one looks: a tool and its arguments.
ASKED = (
    ("demo__query", {"query": _BY_STATUS}),
    ("tickets__search_tickets", {"text": "cart"}),
    ("demo__query", {"query": _LOW_STOCK}),
    ("demo__query", {"query": "DROP TABLE shop.orders"}),
)
AGENT = Implementation(name="claude-code", version="2.1.19")
THEN = ("/sessions", "/servers", "/analytics", "/connect?client=cursor")

# Decoded by the browser itself, as readers will see it.
_COUNT_FRAMES = """async (text) => {
  const data = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0))
  const decoder = new ImageDecoder({ data, type: 'image/webp' })
  await decoder.tracks.ready
  await decoder.completed
  const last = decoder.tracks.selectedTrack.frameCount - 1
  const { image } = await decoder.decode({ frameIndex: last })
  return [last + 1, image.displayWidth, image.displayHeight]
}"""


async def open_window(
    browser: Browser, theme: Literal["light", "dark"], width: int, height: int
) -> tuple[Page, Waiting]:
    """Its clock stands still where the record ends."""
    context = await browser.new_context(
        viewport={"width": width, "height": height}, color_scheme=theme, reduced_motion="reduce",
        locale="en-GB", timezone_id="UTC",
    )  # fmt: skip
    page = await context.new_page()
    page.set_default_timeout(STILL_MS)
    await page.clock.set_fixed_time(NOW)
    return page, Waiting(page)


async def hide_paths(page: Page) -> None:
    """The picture is to show no folder of the machine that it was made on."""
    await page.evaluate(
        """() => {
          const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
          const long = /[^\\s:]*[/](?=shop[.]db|callgate[.]toml|python|tickets_server[.]py)/g
          while (walker.nextNode()) {
            const text = walker.currentNode
            const short = text.data.replace('sqlite:////', 'sqlite:').replace(long, '')
            if (short !== text.data) text.data = short
          }
        }"""
    )


async def film(browser: Browser, stage: Stage, file: Path) -> None:
    page, waiting = await open_window(browser, "dark", WIDTH, HEIGHT)
    camera = await page.context.new_cdp_session(page)
    frames: list[Frame] = []

    async def take(shown_ms: int) -> None:
        await waiting.is_over()
        await hide_paths(page)
        taken = await camera.send("Page.captureScreenshot", {"format": "webp", "quality": QUALITY})
        frames.append(Frame(base64.b64decode(taken["data"]), shown_ms))

    await page.goto("http://127.0.0.1:7420/")
    await expect_connection(page, "live")
    await take(LONG_MS)
    async with stage.client(client_info=AGENT) as agent:
        for tool, arguments in ASKED:
            before = await rows(page).first.get_attribute("data-call")
            await agent.call_tool(tool, arguments)
            await page.wait_for_function(
                "(id) => document.querySelector('[data-call]').dataset.call !== id", arg=before
            )
            await expect(rows(page).first).not_to_contain_text("running")
            await take(SHORT_MS)
        newest = await stage.calls(limit=len(ASKED))
    await rows(page).first.click()
    await take(LONG_MS)  # refused, and why
    for path in (f"/calls/{newest[-1]['id']}", f"/sessions/{newest[-1]['session_id']}", *THEN):
        await page.goto(f"http://127.0.0.1:7420{path}")
        await take(LONG_MS)
    file.write_bytes(animated_webp(frames, WIDTH, HEIGHT))
    seen = await page.evaluate(_COUNT_FRAMES, base64.b64encode(file.read_bytes()).decode())
    assert seen == [len(frames), WIDTH, HEIGHT], f"{file} is not what was meant: {seen}"
    await page.context.close()
