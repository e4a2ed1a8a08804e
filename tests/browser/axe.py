"""What axe has to say of a page, as it is now."""

from functools import cache
from pathlib import Path
from typing import Literal

from browser.sight import expect_loaded
from locked_packages import node_modules
from playwright.async_api import Page, expect

THEMES: tuple[Literal["light", "dark"], ...] = ("light", "dark")


@cache
def _script() -> str:
    return (node_modules(Path(__file__).parent, "browser") / "axe-core" / "axe.min.js").read_text()


# All else in a page is the same in both themes.
_COLOUR_RULES = ["color-contrast", "link-in-text-block"]


async def serious_findings(page: Page, *, only_colours: bool = False) -> list[str]:
    if not await page.evaluate("() => 'axe' in globalThis"):
        await page.evaluate(_script())  # by the debugger's hand, which the page's policy does not bind
    options = {"resultTypes": ["violations"]} | ({"runOnly": _COLOUR_RULES} if only_colours else {})
    found = await page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{one['id']}: {one['help']}: {[node['target'] for node in one['nodes']][:5]}"
        for one in found["violations"]
        if one["impact"] in ("serious", "critical")
    ]


async def expect_nothing_serious_in_either_theme(page: Page) -> None:
    for theme in THEMES:
        await page.emulate_media(color_scheme=theme)
        await expect(page.locator("html")).to_have_attribute("data-theme", f"callgate-{theme}")
        await expect_loaded(page)
        found = await serious_findings(page, only_colours=theme != THEMES[0])
        assert (theme, found) == (theme, [])


async def expect_it_fits_a_phone(page: Page) -> None:
    await page.set_viewport_size({"width": 360, "height": 740})
    await page.wait_for_function("() => document.scrollingElement.scrollWidth <= 360")
