"""The web page's files: found by exact path only, cached as their names allow, guarded by their headers."""

import gzip
from functools import partial

import pytest
from api.parts import Answered, NoCaller, NoServers, ask

from callgate.api.http_api import ApiParts, HttpApi
from callgate.api.page_files import PageFiles, accepts_gzip

INDEX = b"<!doctype html><title>Callgate</title>"
SCRIPT = b"console.log('callgate');" * 200
FONT = b"wOF2" + bytes(range(256))
FILES = {
    "/index.html": INDEX,
    "/favicon.svg": b"<svg/>",
    "/assets/index-AbC123.js": SCRIPT,
    "/assets/inter-AbC123.woff2": FONT,
}
READERS = {path: partial(bytes, body) for path, body in FILES.items()}


def api() -> HttpApi:
    return HttpApi(ApiParts(NoServers(), NoCaller(), page=PageFiles(READERS)))


async def get(path: str, method: str = "GET", **headers: str) -> Answered:
    return await ask(api().app(), path, None, method, **headers)


PAGES = [
    "/",
    "/tool-calls",
    "/calls/019a",
    "/sessions",
    "/sessions/019a",
    "/servers",
    "/servers/demo",
    "/analytics",
    "/query",
    "/connect",
]


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_begins_with_the_same_file_and_needs_no_token(path: str) -> None:
    answered = await get(path)
    assert (answered.status, answered.body) == (200, INDEX)
    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    assert answered.headers["cache-control"] == "no-cache"
    assert api().is_open(path)


async def test_the_files_are_read_once_all_together_when_the_first_is_asked_for() -> None:
    read: list[str] = []

    def reader(path: str) -> bytes:
        read.append(path)
        return FILES[path]

    page = PageFiles({path: partial(reader, path) for path in FILES})
    app = HttpApi(ApiParts(NoServers(), NoCaller(), page=page)).app()
    assert (await ask(app, "/healthz", None)).status == 200
    assert page.is_open("/favicon.svg")
    assert read == []
    for path in ("/", "/favicon.svg", "/assets/index-AbC123.js"):
        assert (await ask(app, path, None)).status == 200
    assert sorted(read) == sorted(FILES)


async def test_a_file_with_a_hash_in_its_name_may_be_kept_for_ever() -> None:
    path = "/assets/index-AbC123.js"
    answered = await get(path)
    assert (answered.status, answered.body) == (200, SCRIPT)
    assert answered.headers["content-type"] == "text/javascript; charset=utf-8"
    assert answered.headers["cache-control"] == "public, max-age=31536000, immutable"
    assert api().is_open(path)


@pytest.mark.parametrize("path", ["/", "/assets/index-AbC123.js", "/favicon.svg"])
async def test_every_file_carries_the_headers_that_guard_the_page(path: str) -> None:
    headers = (await get(path)).headers
    assert headers["content-security-policy"] == (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src blob:; "
        "font-src 'self'; connect-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self'"
    )
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["x-dns-prefetch-control"] == "off"
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "camera=()" in headers["permissions-policy"]


@pytest.mark.parametrize(
    "path",
    [
        "/assets",
        "/assets/",
        "/assets/../index.html",
        "/assets/../../http_api.py",
        "/assets//index-AbC123.js",
        "//index.html",
        "/tool-calls\n",
        "/servers/demo/mcp",
        "/index.html\0",
        "/mcp",
    ],
)
async def test_what_is_neither_a_file_nor_an_address_is_unknown_and_stays_behind_the_gate(path: str) -> None:
    answered = await get(path)
    assert (answered.status, answered.json["code"]) == (404, "caller.not_found")
    assert answered.headers["content-type"] == "application/problem+json"
    assert not api().is_open(path)


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8"


@pytest.mark.parametrize(
    "path", ["/nowhere", "/calls", "/calls/a/b", "/tool-cals", "/servers/demo/tools", "/Über"]
)
async def test_an_address_that_is_no_page_shows_the_page_itself_to_a_browser(path: str) -> None:
    answered = await get(path, accept=BROWSER)
    assert (answered.status, answered.body) == (404, INDEX)
    assert answered.headers["content-type"] == "text/html; charset=utf-8"
    assert answered.headers["content-security-policy"]
    assert "accept" in answered.headers["vary"].split(", ")
    assert "etag" not in answered.headers
    # Without a token too: it could not ask for one otherwise. There is no data in it.
    assert api().is_open(path)
    for accept in ("*/*", "application/json", "text/html;q=0, */*", ""):
        told = await get(path, accept=accept)
        assert (told.status, told.json["code"]) == (404, "caller.not_found")


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/v1/nothing", "/assets/old.js", "/mcp/x", "/metrics/x", "//evil.example", "/tool-calls\n"],
)
async def test_what_is_no_address_of_a_page_stays_a_problem_for_browsers_too(path: str) -> None:
    answered = await get(path, accept=BROWSER)
    assert (answered.status, answered.headers["content-type"]) == (404, "application/problem+json")
    assert not api().is_open(path)


async def test_a_gateway_without_a_page_has_none_for_unknown_addresses_either() -> None:
    app = HttpApi(ApiParts(NoServers(), NoCaller()))
    answered = await ask(app.app(), "/nowhere", accept=BROWSER)
    assert (answered.status, answered.json["code"]) == (404, "caller.not_found")
    assert not app.is_open("/nowhere")


async def test_no_operation_of_the_api_is_open() -> None:
    one = api()
    opened = [operation.path for operation in one.operations if one.is_open(operation.path)]
    assert opened == []
    assert not one.is_open("/metrics")
    assert not one.is_open("/api/v1/openapi.json")
    assert one.is_open("/healthz")


async def test_only_reading_is_offered() -> None:
    for method in ("POST", "PUT", "DELETE"):
        answered = await get("/", method)
        assert (answered.status, answered.json["code"]) == (405, "caller.wrong_http_method")


async def test_a_browser_that_has_the_file_is_told_so() -> None:
    tag = (await get("/")).headers["etag"]
    assert tag[0] == tag[-1] == '"'
    for known in (tag, f'"other", W/{tag}', "*"):
        again = await get("/", if_none_match=known)
        assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
        assert again.headers["content-security-policy"]
    assert (await get("/", if_none_match='"other"')).status == 200


async def test_each_encoding_has_a_tag_of_its_own() -> None:
    path = "/assets/index-AbC123.js"
    plain, packed = await get(path), await get(path, accept_encoding="gzip, br")
    assert packed.headers["content-encoding"] == "gzip"
    assert gzip.decompress(packed.body) == plain.body == SCRIPT
    assert len(packed.body) < len(plain.body) / 10
    assert plain.headers["etag"] != packed.headers["etag"]
    assert "content-encoding" not in plain.headers
    assert (plain.headers["vary"], packed.headers["vary"]) == ("accept-encoding", "accept-encoding")
    stale = await get(path, accept_encoding="gzip", if_none_match=plain.headers["etag"])
    assert stale.status == 200


async def test_what_is_compressed_already_is_sent_as_it_is() -> None:
    answered = await get("/assets/inter-AbC123.woff2", accept_encoding="gzip")
    assert (answered.body, answered.headers["content-type"]) == (FONT, "font/woff2")
    assert "content-encoding" not in answered.headers


@pytest.mark.parametrize(
    ("header", "accepted"),
    [
        ("", False),
        ("gzip", True),
        ("br, gzip;q=0.5", True),
        ("GZIP", True),
        ("*", True),
        ("identity", False),
        ("gzip;q=0", False),
        ("gzip;q=0, *", False),
        ("*;q=0", False),
        ("gzip;q=x", False),
    ],
)
def test_gzip_is_sent_to_those_who_take_it(header: str, accepted: bool) -> None:
    assert accepts_gzip(header) == accepted


async def test_without_its_files_there_is_no_page_and_the_api_still_answers() -> None:
    app = HttpApi(ApiParts(NoServers(), NoCaller())).app()
    assert (await ask(app, "/")).status == 404
    assert (await ask(app, "/healthz")).status == 200
