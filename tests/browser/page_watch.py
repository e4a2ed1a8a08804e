"""Looks over a page's shoulder: what it complains of, and where it goes, is kept for the end of the test."""

import re
from urllib.parse import urlsplit

from playwright.async_api import ConsoleMessage, Page, Request


class PageWatch:
    def __init__(self, page: Page) -> None:
        self._tolerated: list[re.Pattern[str]] = []
        self._said: list[str] = []
        self.requested: list[str] = []
        page.on("console", self._on_console)
        page.on("pageerror", lambda error: self._said.append(f"uncaught: {error}"))
        page.on("request", self._on_request)

    def tolerate(self, pattern: str) -> None:
        """Where the test itself cuts a line or sends a wrong token, the browser's own complaint is right."""
        self._tolerated.append(re.compile(pattern))

    def complaints(self) -> list[str]:
        """Console errors and warnings (a violated policy is one), uncaught errors, requests to elsewhere."""
        said = [text for text in self._said if not any(known.search(text) for known in self._tolerated)]
        homes = {urlsplit(url).netloc for url in self.requested} - {""}  # data: and blob: go nowhere
        return said if len(homes) <= 1 else [*said, f"requests to {sorted(homes)}"]

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self._said.append(f"{message.type}: {message.text}")

    def _on_request(self, request: Request) -> None:
        self.requested.append(request.url)
