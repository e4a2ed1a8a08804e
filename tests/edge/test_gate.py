"""The gate: who is let in, and what the others are told."""

from dataclasses import replace

import pytest
from edge.conftest import OTHER_TOKEN, TOKEN, Door

from callgate.edge.gate import GateRules


async def test_loopback_without_tokens_lets_the_local_person_in(door: Door) -> None:
    async with door.probe() as http:
        assert (await http.request("GET", "/x")).body == b"GET /x local "


@pytest.mark.parametrize("path", ["/mcp", "/servers/shop/mcp", "/anything", "/healthz"])
async def test_a_rebound_host_name_is_refused_everywhere(door: Door, path: str) -> None:
    async with door.probe() as http:
        answer = await http.request("POST", path, {"host": "evil.example"})
        assert (answer.status, answer.json()["code"]) == (421, "refused.host")


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://localhost.evil.example"]
)
async def test_a_page_of_another_origin_is_refused(door: Door, origin: str) -> None:
    async with door.probe() as http:
        answer = await http.request("POST", "/mcp", {"origin": origin})
        assert (answer.status, answer.json()["code"]) == (403, "refused.origin")


async def test_our_own_origin_and_a_named_one_may_call(door: Door) -> None:
    async with door.probe() as http:
        for origin in (f"http://localhost:{door.port}", "https://mine.example"):
            assert (await http.request("GET", "/x", {"origin": origin})).status == 200


@pytest.mark.parametrize("header", ["host", "authorization"])
async def test_a_deciding_header_may_come_only_once(door: Door, header: str) -> None:
    async with door.probe() as http:
        twice = f"{header}: localhost\r\n{header}: localhost\r\n"
        host = "" if header == "host" else "host: localhost\r\n"
        await http.send(f"GET /x HTTP/1.1\r\n{host}{twice}\r\n".encode())
        assert (await http.answer()).status == 400


@pytest.mark.parametrize("given", [None, "Bearer wrong", f"Basic {TOKEN}", "Bearer", f"Bearer {TOKEN}x"])
async def test_without_a_valid_token_nobody_gets_in(guarded_door: Door, given: str | None) -> None:
    async with guarded_door.probe() as http:
        headers = {} if given is None else {"authorization": given}
        for path in ("/mcp", "/servers/shop/mcp", "/api/requests", "/"):
            answer = await http.request("GET", path, headers)
            assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
            assert answer.json()["code"] == "refused.unauthenticated"


async def test_each_token_has_its_principal(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        for token, name in ((TOKEN, b"alice"), (OTHER_TOKEN, b"bob")):
            answer = await http.request("GET", "/x", {"authorization": f"bearer {token}"})
            assert answer.body == b"GET /x %s " % name


async def test_a_health_probe_needs_no_token_but_is_told_apart(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert (await http.request("GET", "/healthz")).body == b"GET /healthz nobody "
        with_token = await http.request("GET", "/healthz", {"authorization": f"Bearer {TOKEN}"})
        assert with_token.body == b"GET /healthz alice "


async def test_a_path_is_judged_as_it_is_routed_whatever_its_spelling(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        assert (await http.request("GET", "/health%7A")).body == b"GET /healthz nobody "
        for path in (
            "/healthz/",
            "/healthz%00",
            "/healthz/../api/requests",
            "/healthz%2F..%2Fapi",
            "//healthz",
        ):
            assert (await http.request("GET", path)).status == 401


async def test_a_session_belongs_to_its_principal(guarded_door: Door) -> None:
    async with guarded_door.probe() as http:
        session = await http.initialize(authorization=f"Bearer {TOKEN}")
        mine = await http.legacy("x", session=session, authorization=f"Bearer {TOKEN}")
        theirs = await http.legacy("x", session=session, authorization=f"Bearer {OTHER_TOKEN}")
        assert (mine.status, theirs.status) == (200, 404)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "something new", "same-origin, cross-site"])
@pytest.mark.parametrize("path", ["/api/v1/calls", "/mcp", "/metrics"])
async def test_a_browser_that_asks_for_a_page_of_another_origin_is_refused(
    door: Door, path: str, site: str
) -> None:
    """With an image, a script or a form there is no Origin, only this."""
    async with door.probe() as http:
        answer = await http.request("GET", path, {"sec-fetch-site": site})
        assert (answer.status, answer.json()["code"]) == (403, "refused.origin")


async def test_our_own_page_the_address_bar_and_named_origins_pass(door: Door) -> None:
    async with door.probe() as http:
        for site in ("same-origin", "none"):
            assert (await http.request("GET", "/x", {"sec-fetch-site": site})).status == 200
        named = {"sec-fetch-site": "cross-site", "origin": "https://mine.example"}
        assert (await http.request("GET", "/x", named)).status == 200


async def test_a_link_on_another_site_leads_to_what_needs_no_token(door: Door) -> None:
    async with door.probe() as http:
        assert (await http.request("GET", "/healthz", {"sec-fetch-site": "cross-site"})).status == 200


async def test_every_answer_is_guarded_against_other_pages_and_caches(door: Door) -> None:
    async with door.probe() as http:
        for answer in (
            await http.request("GET", "/x"),
            await http.request("GET", "/stream"),
            await http.request("GET", "/x", {"host": "evil.example"}),
            await http.request("GET", "/bug"),
            await http.modern("x"),
        ):
            assert answer.headers["x-content-type-options"] == "nosniff"
            assert answer.headers["cross-origin-resource-policy"] == "same-origin"
            assert answer.headers["cache-control"] == "no-store"


async def test_an_answer_that_says_how_it_may_be_kept_is_believed(door: Door) -> None:
    async with door.probe() as http:
        assert (await http.modern("test/notices")).headers["cache-control"] == "no-cache, no-transform"


async def test_a_token_that_ends_takes_its_open_connections_with_it(guarded_door: Door) -> None:
    async with guarded_door.probe() as alice, guarded_door.probe() as bob:
        for http, token in ((alice, TOKEN), (bob, OTHER_TOKEN)):
            assert (await http.request("GET", "/x", {"authorization": f"bearer {token}"})).status == 200
            # A request that is not whole yet is nobody's: the gate has to have seen one to know whose it is.
        _, _, rules, _, _ = guarded_door.listener.made_of
        assert isinstance(rules, GateRules)
        guarded_door.listener.gate.use(replace(rules, tokens=rules.tokens[1:]))
        answer = await bob.request("GET", "/x", {"authorization": f"bearer {OTHER_TOKEN}"})
        assert answer.status == 200
        answer = await alice.request("GET", "/x", {"authorization": f"bearer {TOKEN}"})
        assert answer.status == 401
