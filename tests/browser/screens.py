"""Photographs every page in light and dark, and films a short tour: `scripts/screens [FOLDER]`.

The record is written with fixed ids and times. Where it ends the gateway starts, and the browser's clock
stands still.
"""

import asyncio
import sys
import tempfile
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, Literal

from browser.browser_stage import Stage, open_stage, write_config
from browser.chromium import open_chromium
from browser.demo_past import NOW, DemoPast
from browser.held_tools import held
from browser.past import write_past
from browser.tour import MAX_BYTES as MAX_TOUR_BYTES
from browser.tour import film, hide_paths, open_window
from playwright.async_api import Browser

FOLDER = Path(__file__).parents[2] / "docs" / "screens"
GATEWAY = (sys.executable, str(Path(__file__).with_name("gateway_at.py")), str(NOW.timestamp()))
MAX_BYTES = 5_000_000
TOUR = "tour.webp"
# What is opened before the picture is taken.
PRESSED = {
    "add-server": ("Add",),
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
        "connect": "/connect?client=cursor",
        "settings": "/settings",
        "add-server": "/servers",
    }


def chromium_at(stage: Stage) -> AbstractAsyncContextManager[Browser]:
    """The address in the picture is the one that people see."""
    rules = f"--host-resolver-rules=MAP 127.0.0.1:7420 127.0.0.1:{stage.port}"
    return open_chromium(rules, prefers_shell=True)


async def photograph(
    browser: Browser, pictures: dict[str, str], theme: Literal["light", "dark"], folder: Path
) -> None:
    page, waiting = await open_window(browser, theme, 1440, 900)
    for name, path in pictures.items():
        await page.goto("http://127.0.0.1:7420" + path)
        await waiting.is_over()
        for button in PRESSED.get(name, ()):
            await page.get_by_role("button", name=button).first.click()
            await waiting.is_over()
        await hide_paths(page)
        await page.screenshot(path=folder / f"{name}-{theme}.png", animations="disabled", caret="hide")
    await page.context.close()


async def main(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        write_config(state)
        await write_past(state, DemoPast(state / "shop.db").visits())
        async with open_stage(state, command=GATEWAY) as stage, chromium_at(stage) as browser:
            for theme in THEMES:
                await photograph(browser, await places(stage), theme, folder)
            # Last, since it adds to the record.
            await film(browser, stage, folder / TOUR)
    with tempfile.TemporaryDirectory() as name:
        async with held(Path(name), GATEWAY) as stage, chromium_at(stage) as browser:
            for theme in THEMES:
                await photograph(browser, {"trust": "/servers/calc?tab=changes"}, theme, folder)
    sizes = [path.stat().st_size for path in folder.glob("*.png")]
    tour = (folder / TOUR).stat().st_size
    print(
        f"{len(sizes)} pictures, {sum(sizes) / 1e6:.1f} MB (limit {MAX_BYTES / 1e6:.0f}), and {TOUR}, "
        f"{tour / 1e6:.1f} MB (limit {MAX_TOUR_BYTES / 1e6:.0f}), in {folder}"
    )
    return 0 if sum(sizes) < MAX_BYTES and tour < MAX_TOUR_BYTES else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(Path(sys.argv[1]) if len(sys.argv) > 1 else FOLDER)))
