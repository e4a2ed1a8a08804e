"""How soon the web page is seen and shows its first rows, as it is and on a slow line and processor."""

import asyncio
import statistics
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from browser.browser_stage import Stage, open_stage, write_config
from browser.chromium import open_chromium
from browser.demo_past import DemoPast
from browser.past import write_past
from browser.screens import GATEWAY
from browser.sight import rows
from playwright.async_api import Browser, expect

ROUNDS = 5
# Lighthouse's "Slow 4G" as DevTools applies it, and a processor of a quarter of this one's speed.
SLOW_LINE = {
    "offline": False,
    "latency": 150 * 3.75,
    "downloadThroughput": 1.6 * 1024 * 1024 / 8 * 0.9,
    "uploadThroughput": 750 * 1024 / 8 * 0.9,
}
SLOWER = 4

_SEEN = """() => new Promise(resolve => {
  let largest = 0;
  new PerformanceObserver(list => { for (const one of list.getEntries()) largest = one.startTime; })
    .observe({type: 'largest-contentful-paint', buffered: true});
  setTimeout(() => resolve({
    first: performance.getEntriesByName('first-contentful-paint')[0].startTime,
    largest,
    bytes: [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]
      .filter(one => !one.name.includes('/api/')).reduce((sum, one) => sum + one.encodedBodySize, 0),
  }), 0);
})"""


async def visit(browser: Browser, stage: Stage, is_slow: bool) -> dict[str, float]:
    """By somebody who was never here: nothing is in the cache."""
    context = await browser.new_context(viewport={"width": 1440, "height": 900})
    page = await context.new_page()
    page.set_default_timeout(120_000)
    inspector: Any = await context.new_cdp_session(page)
    if is_slow:
        await inspector.send("Network.enable")
        await inspector.send("Network.emulateNetworkConditions", SLOW_LINE)
        await inspector.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER})
    await page.goto(f"{stage.url}/", wait_until="commit")
    row = rows(page).first
    await expect(row).to_be_visible(timeout=120_000)
    rows_at = await page.evaluate("() => performance.now()")
    seen = await page.evaluate(_SEEN)
    await context.close()
    return {**seen, "rows": rows_at}


async def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        state = Path(name)
        write_config(state)
        await write_past(state, DemoPast(state / "shop.db").visits())
        async with (
            open_stage(state, command=GATEWAY) as stage,
            open_chromium() as browser,
        ):
            await visit(browser, stage, is_slow=False)  # the gateway has compressed its files
            print(
                "| line | kB | first paint, ms | largest paint, ms | first rows, ms |\n|---|---|---|---|---|"
            )
            for label, is_slow in (("as it is", False), ("slow 4G, CPU / 4", True)):
                visits = [await visit(browser, stage, is_slow) for _ in range(ROUNDS)]
                middle = {key: statistics.median(one[key] for one in visits) for key in visits[0]}
                times = " | ".join(f"{middle[key]:.0f}" for key in ("first", "largest", "rows"))
                print(f"| {label} | {middle['bytes'] / 1000:.1f} | {times} |")


if __name__ == "__main__":
    asyncio.run(main())
