"""How a person finds their way on the page: by what things are and are called."""

from playwright.async_api import Locator, Page, expect

# Two frames: in the first a change of style takes effect, and with it what it animates begins. What goes by
# the scroll position and not by time has no end.
_ALL_STILL = """async () => {
  for (let frame = 0; frame < 2; frame += 1) await new Promise(requestAnimationFrame);
  const lasting = one => one.timeline !== document.timeline
    || one.effect.getComputedTiming().endTime === Infinity;
  const moving = document.getAnimations().filter(one => !lasting(one));
  await Promise.all(moving.map(one => one.finished.catch(() => null)));
}"""


def rows(page: Page) -> Locator:
    """The calls in the document; a list has only those in sight there."""
    return page.locator("[data-call]")


def row(page: Page, call_id: str) -> Locator:
    return page.locator(f'[data-call="{call_id}"]')


async def ids(page: Page) -> list[str]:
    """Of the calls in the document, from top to bottom."""
    return await rows(page).evaluate_all(
        "rows => rows.map(row => [row.getBoundingClientRect().top, row.dataset.call])"
        ".sort((one, other) => one[0] - other[0]).map(([, id]) => id)"
    )


async def expect_connection(page: Page, state: str) -> None:
    await expect(page.locator("[data-connection]")).to_have_attribute("data-connection", state)


async def expect_cut(page: Page) -> None:
    await expect(page.locator("[data-connection]")).not_to_have_attribute("data-connection", "live")


async def expect_total(page: Page, count: int, noun: str = "tool calls") -> None:
    """What the list's head says the server found."""
    await expect(page.get_by_role("status").filter(has_text=noun)).to_have_text(f"{count:,} {noun}")


async def expect_loaded(page: Page) -> None:
    """Everything that was to come is there, and stands still."""
    await expect(page.locator("main")).to_be_visible()
    await expect(page.get_by_role("status", name="Loading")).to_have_count(0)
    await expect(page.locator('[data-ready="false"]')).to_have_count(0)  # editors come in their own time
    await page.evaluate("() => document.fonts.ready.then(() => true)")
    await page.evaluate(_ALL_STILL)
