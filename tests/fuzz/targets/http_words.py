"""HTTP/1.1 by its grammar, with faults: heads, bodies and chunks for both directions."""

from collections.abc import Sequence
from random import Random

FIELDS = (
    *(b"Content-Length: 0", b"Content-Length: 5", b"Content-Length: 11", b"Content-Length: -1"),
    *(b"Content-Length: 5, 5",),
    *(b"Content-Length:5", b"Content-Length : 5", b"Content-Length: +5"),
    *(b"content-length: 99999999999999999999",),
    *(b"Transfer-Encoding: chunked", b"Transfer-Encoding: gzip, chunked"),
    *(b"Transfer-Encoding: chunked, chunked",),
    *(b"Transfer-Encoding: identity", b"transfer-encoding:\tchunked", b"Transfer-Encoding: xchunked"),
    *(b"TE: trailers",),
    *(b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade", b"Connection: Upgrade, close"),
    *(b"Upgrade: websocket", b"Upgrade: h2c", b"Expect: 100-continue", b"Keep-Alive: timeout=5"),
    *(b"Trailer: X",),
    *(b"Host: localhost", b"Host: evil.example", b"Origin: null", b"Cookie: a=b"),
    *(b"X: " + b"y" * 300, b"X:", b": x"),
    *(b"Content-Type: application/json", b"Content-Type: text/event-stream", b"Mcp-Session-Id: s"),
    *(b" folded", b"\tx"),
)  # fmt: skip
_HONEST = (
    b"X-A: b",
    b"Cookie: a=b",
    b"Accept: */*",
    b"Mcp-Session-Id: s",
    b"Connection: keep-alive",
    b"X: \xe9",
)
_ENDS = (b"\r\n",) * 20 + (b"\n", b"\r", b"\r\r\n", b"")
_BODY = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
WORDS = (
    *FIELDS,
    b"HTTP/1.1",
    b"HTTP/1.0",
    b"HTTP/2.0",
    b"0\r\n\r\n",
    b"5\r\nhello\r\n",
    b"GET ",
    b"POST / ",
    b";x=y",
)


def mostly_honest(random: Random, honest: Sequence[bytes], hostile: Sequence[bytes]) -> bytes:
    """A request with a fault in every place is refused at the first: the others would never be read."""
    return random.choice(honest if random.random() < 0.9 else hostile)


def head(first: bytes, random: Random, fixed: bytes = b"") -> bytes:
    lines = [first, *(mostly_honest(random, _HONEST, FIELDS) for _ in range(random.randint(0, 5)))]
    end = random.choice(_ENDS) if random.random() < 0.1 else b"\r\n"
    return end.join(lines) + end + fixed + end


def body(random: Random) -> tuple[bytes, bytes]:
    """The fields that frame it, and the body."""
    text = _BODY[: random.randint(0, len(_BODY))]
    if random.random() < 0.4:
        wrong = random.choice((0,) * 12 + (1, -1))
        return b"Content-Length: %d\r\n" % max(0, len(text) + wrong), text
    if random.random() < 0.2:
        return b"", text
    return b"Transfer-Encoding: chunked\r\n", chunks(text, random)


def chunks(text: bytes, random: Random) -> bytes:
    made = b""
    while text:
        size = random.randint(1, len(text))
        told = size + random.choice((0,) * 60 + (1, -1))
        extension = random.choice((b"",) * 20 + (b";a=b", b";" + b"x" * 50, b" ", b";\r", b'; q="\r\n"'))
        made += b"%x%b\r\n%b%b" % (
            told,
            extension,
            text[:size],
            random.choice(_ENDS) if random.random() < 0.1 else b"\r\n",
        )
        text = text[size:]
    trailers = b"".join(random.choice(FIELDS) + b"\r\n" for _ in range(random.choice((0, 0, 0, 1, 3))))
    return made + random.choice((b"0",) * 9 + (b"00", b"-0")) + b"\r\n" + trailers + b"\r\n"
