"""What axe has to say of a page, as it is now."""

from functools import cache
from pathlib import Path

from locked_packages import node_modules
from playwright.async_api import Page


@cache
def _script() -> str:
    return (node_modules(Path(__file__).parent, "browser") / "axe-core" / "axe.min.js").read_text()


async def serious_findings(page: Page) -> list[str]:
    await page.evaluate(_script())  # by the debugger's hand, which the page's policy does not bind
    found = await page.evaluate("() => axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:5]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]
