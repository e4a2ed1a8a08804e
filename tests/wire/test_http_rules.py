"""The header rules of one POST."""

import base64

import pytest

from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallerError
from callgate.wire.http_rules import (
    check_modern_headers,
    check_post_headers,
    choose_era,
    decode_header_value,
)
from callgate.wire.params import peek

POST = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
ENVELOPE = Envelope(Era.MODERN, "2026-07-28")
MODERN_PARAMS = b'{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'


@pytest.mark.parametrize(
    ("headers", "params", "era"),
    [
        ({}, b"{}", Era.LEGACY),
        ({"mcp-protocol-version": "2025-06-18"}, b"", Era.LEGACY),
        ({"mcp-method": "tools/call"}, b"{}", Era.LEGACY),
        ({"mcp-protocol-version": "2026-07-28"}, b"{}", Era.MODERN),
        ({"mcp-protocol-version": "2031-01-01"}, b"{}", Era.MODERN),
        ({"mcp-protocol-version": "2025-06-18"}, MODERN_PARAMS, Era.MODERN),
        ({}, MODERN_PARAMS, Era.MODERN),
    ],
)
def test_the_era_comes_from_the_body_then_from_the_version_header(
    headers: dict[str, str], params: bytes, era: Era
) -> None:
    assert choose_era(headers, peek(params)) is era


@pytest.mark.parametrize(
    "accept", [POST["accept"], "*/*", "text/*;q=0.5, application/*", "TEXT/event-stream,*/*"]
)
def test_an_accept_that_covers_both_kinds_of_answer_is_fine(accept: str) -> None:
    check_post_headers(POST | {"accept": accept, "content-type": "application/json; charset=utf-8"})


@pytest.mark.parametrize("accept", ["", "application/json", "text/event-stream", "text/html"])
def test_an_accept_that_rules_one_out_is_406(accept: str) -> None:
    with pytest.raises(CallerError) as caught:
        check_post_headers(POST | {"accept": accept})
    assert caught.value.code.http_status == 406


def test_a_form_post_is_415() -> None:
    with pytest.raises(CallerError) as caught:
        check_post_headers(POST | {"content-type": "text/plain"})
    assert caught.value.code.http_status == 415


def modern_headers(**changed: str) -> dict[str, str]:
    headers = {"mcp-protocol-version": "2026-07-28", "mcp-method": "tools/call", "mcp-name": "t"}
    return headers | {key.replace("_", "-"): value for key, value in changed.items()}


def test_modern_headers_that_repeat_the_body_pass() -> None:
    wrapped = f"=?base64?{base64.b64encode(b't').decode()}?="
    for headers in (modern_headers(), modern_headers(mcp_name=wrapped)):
        check_modern_headers(headers, "tools/call", peek(MODERN_PARAMS), ENVELOPE)


@pytest.mark.parametrize("broken", ["mcp-protocol-version", "mcp-method", "mcp-name"])
def test_a_missing_or_wrong_modern_header_is_a_mismatch(broken: str) -> None:
    missing = {key: value for key, value in modern_headers().items() if key != broken}
    wrong = modern_headers() | {broken: "other"}
    for headers in (missing, wrong):
        with pytest.raises(CallerError) as caught:
            check_modern_headers(headers, "tools/call", peek(MODERN_PARAMS), ENVELOPE)
        assert caught.value.code.rpc_code == -32020


@pytest.mark.parametrize("value", ["=?base64?!!?=", "=?base64?dB==?=", "=?base64?/w==?="])
def test_a_broken_wrapping_matches_nothing(value: str) -> None:
    assert decode_header_value(value) is None
