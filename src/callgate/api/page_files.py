"""The web page's files, in `callgate/ui`: which there are, and how they are sent.

Listed at start: a path is looked up among them and never on disk. Read when the first of them is asked for,
all at once, so that they are of one build: a gateway whose page nobody opens does without their 1.4 MB. They
hold no data, so they need no token: what the page shows it asks of the API, and there the gate wants one.
Counterpart: `web/`.
"""

import asyncio
import gzip
import hashlib
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import PurePosixPath

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route, compile_path

from callgate.model.error_codes import CALLER_NOT_FOUND
from callgate.model.errors import CallerError

_INDEX = "/index.html"
# The page's own router (web/src/router.ts) knows these; each begins with the same file.
_PAGES = (
    "/",
    "/tool-calls",
    "/calls/{id}",
    "/sessions",
    "/sessions/{id}",
    "/servers",
    "/servers/{name}",
    "/analytics",
    "/query",
    "/connect",
    "/settings",
)
_PAGE_PATTERNS = tuple(compile_path(path)[0] for path in _PAGES)
# What a person may have typed or followed as an address of the page. What programs ask for is not: there an
# unknown path is a problem, for a browser too.
_ADDRESS = re.compile(
    r"/(?!(?:api|assets|healthz|mcp|metrics)(?:/|\Z))(?!.*/mcp\Z)[^\x00-\x1f\x7f/][^\x00-\x1f\x7f]*"
)

# Not from `mimetypes`, which reads the machine's own tables. What is missing here is sent as bytes, and with
# nosniff no browser takes that for anything else.
_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".ico": "image/x-icon",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".png": "image/png",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
    ".woff2": "font/woff2",
}
_PACKED = frozenset({".png", ".woff2"})  # already compressed

_CONTENT_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; "
    "font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
)
_UNUSED_FEATURES = ("camera", "display-capture", "geolocation", "microphone", "payment", "usb")
_GUARDS = {
    "content-security-policy": _CONTENT_POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    # Answers of strangers hold links: a browser must not look their names up before somebody follows one.
    "x-dns-prefetch-control": "off",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": ", ".join(f"{feature}=()" for feature in _UNUSED_FEATURES),
}
# The build puts a hash of the content into the names of all files in assets/, and of no others.
_FOR_EVER = "public, max-age=31536000, immutable"
_ASK_FIRST = "no-cache"


@dataclass(slots=True)
class PageFile:
    path: str
    body: bytes
    digest: str = field(init=False)
    _gzipped: bytes | None = None

    def __post_init__(self) -> None:
        self.digest = hashlib.sha256(self.body).hexdigest()[:32]

    @property
    def headers(self) -> dict[str, str]:
        is_hashed = self.path.startswith("/assets/")
        return {
            "content-type": _TYPES.get(self._suffix, "application/octet-stream"),
            "cache-control": _FOR_EVER if is_hashed else _ASK_FIRST,
            "vary": "accept-encoding",
            **_GUARDS,
        }

    async def gzipped(self) -> bytes | None:
        """Compressed when it is first asked for, outside of the loop; None where that saves nothing."""
        if self._suffix in _PACKED:
            return None
        if self._gzipped is None:
            self._gzipped = await asyncio.to_thread(gzip.compress, self.body, 9, mtime=0)
        return self._gzipped

    @property
    def _suffix(self) -> str:
        return PurePosixPath(self.path).suffix


class PageFiles:
    def __init__(self, found: Mapping[str, Callable[[], bytes]]) -> None:
        """`found`: what reads a file, by its path in a URL. None at all is a gateway without a page."""
        self._found = found
        self._files: dict[str, PageFile] = {}  # none until one is asked for

    @classmethod
    def bundled(cls) -> "PageFiles":
        """Those that were installed with us."""
        folder = files("callgate") / "ui"
        return cls(dict(_below(folder, "")) if folder.is_dir() else {})

    def is_open(self, path: str) -> bool:
        """Whether the path is answered without a token: by a file, or by the page's own "not found"."""
        is_address = bool(self._found) and _ADDRESS.fullmatch(path) is not None
        return is_address or _file_name(path) in self._found

    def routes(self) -> list[Route]:
        """Exactly what there is: any other path is answered as unknown."""
        paths = [*_PAGES, *self._found] if self._found else []
        return [Route(path, self.answer, methods=["GET"]) for path in paths]

    async def answer(self, request: Request) -> Response:
        file = await self._read(_file_name(request.scope["path"]))
        if file is None:  # Starlette's own patterns let a line feed pass at the end
            raise CallerError(CALLER_NOT_FOUND, "There is no such page")
        headers, tag, body = file.headers, file.digest, file.body
        if packed := await _packed(file, request):
            # A strong tag names the bytes that are sent, so each encoding has its own (RFC 9110, 8.8.3).
            body, tag = packed, f"{tag}-gzip"
            headers["content-encoding"] = "gzip"
        headers["etag"] = f'"{tag}"'
        if _is_among(tag, request.headers.get("if-none-match", "")):
            return Response(status_code=304, headers=headers)
        return Response(body, headers=headers)

    async def not_found(self, request: Request) -> Response | None:
        """The page itself, which says that there is no such address; None: not a browser."""
        is_address = _ADDRESS.fullmatch(request.scope["path"]) is not None
        if not is_address or not accepts_html(request.headers.get("accept", "")):
            return None
        if (file := await self._read(_INDEX)) is None:
            return None
        headers, body = file.headers, file.body
        headers["vary"] = "accept, accept-encoding"
        if packed := await _packed(file, request):
            body, headers["content-encoding"] = packed, "gzip"
        return Response(body, 404, headers=headers)

    async def _read(self, name: str) -> PageFile | None:
        if name in self._found and not self._files:
            self._files = await asyncio.to_thread(self._read_all)
        return self._files.get(name)

    def _read_all(self) -> dict[str, PageFile]:
        return {path: PageFile(path, read()) for path, read in self._found.items()}


def _file_name(path: str) -> str:
    is_page = any(pattern.fullmatch(path) for pattern in _PAGE_PATTERNS)
    return _INDEX if is_page else path


async def _packed(file: PageFile, request: Request) -> bytes | None:
    return await file.gzipped() if accepts_gzip(request.headers.get("accept-encoding", "")) else None


def accepts_gzip(header: str) -> bool:
    """Accept-Encoding (RFC 9110, 12.5.3): gzip by name, else by the asterisk; a weight of 0 is a no."""
    weights = _weights(header)
    return weights.get("gzip", weights.get("x-gzip", weights.get("*", 0.0))) > 0


def accepts_html(header: str) -> bool:
    """By name: the asterisk is what programs send that read JSON."""
    return _weights(header).get("text/html", 0.0) > 0


def _weights(header: str) -> dict[str, float]:
    weights: dict[str, float] = {}
    for entry in header.lower().split(","):
        accepted, _, parameter = entry.partition(";")
        name, _, value = parameter.partition("=")
        try:
            weights[accepted.strip()] = float(value) if name.strip() == "q" else 1.0
        except ValueError:
            continue
    return weights


def _is_among(tag: str, header: str) -> bool:
    """If-None-Match compares weakly (RFC 9110, 13.1.2): a proxy may have marked our tag as weak."""
    known = {entry.strip().removeprefix("W/") for entry in header.split(",")}
    return "*" in known or f'"{tag}"' in known


def _below(folder: Traversable, path: str) -> Iterator[tuple[str, Callable[[], bytes]]]:
    for entry in folder.iterdir():
        name = f"{path}/{entry.name}"
        if entry.is_dir():
            yield from _below(entry, name)
        else:
            yield name, entry.read_bytes
