"""How long a page let its viewer wait between two frames."""

from dataclasses import dataclass

from playwright.async_api import Page

_WATCH = """() => {
  const gaps = (window.__frameGaps = []);
  let last = performance.now();
  const next = (now) => {
    gaps.push(now - last);
    last = now;
    window.__frameHandle = requestAnimationFrame(next);
  };
  window.__frameHandle = requestAnimationFrame(next);
}"""
_STOP = "() => { cancelAnimationFrame(window.__frameHandle); return window.__frameGaps; }"


@dataclass(frozen=True)
class Gaps:
    longest_ms: float
    p95_ms: float
    count: int


class Frames:
    def __init__(self, page: Page) -> None:
        self._page = page

    @classmethod
    async def watch(cls, page: Page) -> "Frames":
        await page.evaluate(_WATCH)
        return cls(page)

    async def stop(self) -> Gaps:
        gaps = sorted(await self._page.evaluate(_STOP))
        return Gaps(gaps[-1], gaps[int(len(gaps) * 0.95)], len(gaps))
