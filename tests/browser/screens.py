"""Photographs every page in light and dark, into docs/screens or the folder that is named: `scripts/screens`.

The record is written with fixed ids and times. Where it ends the gateway starts, and the browser's clock
stands still.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any, Literal

from browser.browser_stage import Stage, open_stage, write_config
from browser.chromium import open_chromium
from browser.demo_past import NOW, DemoPast
from browser.past import write_past
from browser.sight import expect_loaded
from playwright.async_api import Browser, Page, Request

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
GATEWAY = (sys.executable, str(Path(__file__).with_name("gateway_at.py")), str(NOW.timestamp()))
MAX_BYTES = 5_000_000
STILL_MS = 30_000
# What is opened before the picture is taken.
PRESSED = {
    "server": ("search_tickets",),
    "schema": ("orders",),
    "query": ("Calls and errors per minute", "Chart"),
}
THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


async def places(stage: Stage) -> dict[str, str]:
    """Each picture's name, and the page it shows."""
    newest: dict[str, Any] = (await stage.calls(limit=1, q="Germany"))[0]
    return {
        "live": "/",
        "tool-calls": "/tool-calls",
        "call": f"/calls/{newest['id']}",
        "sessions": "/sessions",
        "session": f"/sessions/{newest['session_id']}",
        "servers": "/servers",
        "server": "/servers/tickets",
        "schema": "/servers/demo?tab=schema",
        "analytics": "/analytics",
        "query": "/query",
    }


class Waiting:
    """What a page has asked for and not yet got; the event stream never ends, and does not count."""

    def __init__(self, page: Page) -> None:
        self._page = page
        self._asked: set[Request] = set()
        page.on("request", lambda request: self._asked.add(request))
        page.on("requestfinished", lambda request: self._asked.discard(request))
        page.on("requestfailed", lambda request: self._asked.discard(request))

    async def is_over(self) -> None:
        while True:
            await expect_loaded(self._page)
            if all("/api/v1/events" in request.url for request in self._asked):
                return


async def photograph(browser: Browser, stage: Stage, theme: Literal["light", "dark"], folder: Path) -> None:
    context = await browser.new_context(
        viewport={"width": 1440, "height": 900}, color_scheme=theme, reduced_motion="reduce",
        locale="en-GB", timezone_id="UTC",
    )  # fmt: skip
    page = await context.new_page()
    page.set_default_timeout(STILL_MS)
    waiting = Waiting(page)
    await page.clock.set_fixed_time(NOW)
    for name, path in (await places(stage)).items():
        await page.goto("http://127.0.0.1:7420" + path)
        await waiting.is_over()
        for button in PRESSED.get(name, ()):
            await page.get_by_role("button", name=button).first.click()
            await waiting.is_over()
        await page.screenshot(path=folder / f"{name}-{theme}.png", animations="disabled", caret="hide")
    await context.close()


async def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        write_config(state)
        await write_past(state, DemoPast(state / "shop.db").visits())
        async with (
            open_stage(state, command=GATEWAY) as stage,
            # The address in the picture is the one that people see.
            open_chromium(f"--host-resolver-rules=MAP 127.0.0.1:7420 127.0.0.1:{stage.port}") as browser,
        ):
            for theme in THEMES:
                await photograph(browser, stage, theme, folder)
    sizes = [path.stat().st_size for path in folder.glob("*.png")]
    print(f"{len(sizes)} pictures, {sum(sizes) / 1e6:.1f} MB (limit {MAX_BYTES / 1e6:.0f}), in {folder}")
    return 0 if sum(sizes) < MAX_BYTES else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)))
