"""What of the body of an HTTP refusal is told."""

import pytest

from callgate.upstreams.http.faults import MAX_SHOWN_CHARS, answer_fault, refusal_text
from callgate.upstreams.http.http_transport import HttpSettings

PLAIN = [(b"content-type", b"text/plain; charset=utf-8")]
HTML = [(b"content-type", b"text/html")]
JSON = [(b"content-type", b"application/json")]
SETTINGS = HttpSettings(
    "wiki",
    "https://maria:secret-word@host/mcp?key=hidden%20key&x=1",
    (("Authorization", "Bearer hidden-token"), ("X-Team", "blue")),
    redact=lambda text: text.replace("sk-anybody", "***"),
)
HIDE = SETTINGS.hider()


@pytest.mark.parametrize(
    ("headers", "body", "told"),
    [
        (PLAIN, b"Access is only allowed at localhost:8080\n", "Access is only allowed at localhost:8080"),
        ([], b"no type, but a word", "no type, but a word"),
        (JSON, b'{"error": "invalid_token", "error_description": "It expired"}', "It expired"),
        (
            JSON,
            b'{"jsonrpc": "2.0", "id": null, "error": {"code": -1, "message": "No such host"}}',
            "No such host",
        ),
        (JSON, b'{"title": "Forbidden", "detail": "Not from here"}', "Not from here"),
        (JSON, b'{"reason": [1, 2]}', '{"reason": [1, 2]}'),
        (JSON, b'{"message": ', '{"message":'),
        (
            HTML,
            b"<html><head><title>403</title><style>p{}</style></head><p>Go &amp; <b>see</b></p>",
            "Go & see",
        ),
        (HTML, b"<script>never ends", ""),
        (PLAIN, b"\x1b[31mred\x07 \xe2\x80\xae\xff  line\r\nbreak", "[31mred � line break"),
        ([(b"content-type", b"image/png")], b"\x89PNG", ""),
        (PLAIN, b"", ""),
    ],
)
def test_it_is_one_short_line(headers: list[tuple[bytes, bytes]], body: bytes, told: str) -> None:
    assert refusal_text(headers, body, HIDE) == told


def test_a_long_one_is_clipped() -> None:
    assert len(refusal_text(PLAIN, b"x" * 10_000_000, HIDE)) == MAX_SHOWN_CHARS


@pytest.mark.parametrize(
    "secret",
    ["hidden-token", "Bearer hidden-token", "secret-word", "hidden key", "hidden%20key", "sk-anybody"],
)
def test_what_the_entry_holds_is_not_told_even_if_the_server_repeats_it(secret: str) -> None:
    for headers, body in ((PLAIN, f"You sent {secret}"), (JSON, f'{{"message": "You sent {secret}"}}')):
        told = refusal_text(headers, body.encode(), HIDE)
        assert told.startswith("You sent ***")
        assert "hidden" not in told


def test_a_secret_at_the_edge_of_the_line_is_not_told_in_part() -> None:
    body = b"x" * (MAX_SHOWN_CHARS - 4) + b" hidden-token"
    assert "hid" not in refusal_text(PLAIN, body, HIDE)


@pytest.mark.parametrize("status", [400, 401, 403, 404, 429, 500, 503])
def test_every_refusal_tells_it(status: int) -> None:
    error = answer_fault("wiki", status, PLAIN, b"Access is only allowed at localhost", HIDE)
    assert error.message.endswith(": Access is only allowed at localhost")
