"""Requests on which two readers of HTTP could disagree, and the one thing each may lead to.

REFUSED: at most one answer, of 4xx or 5xx, then the connection is closed. SERVED: one answer, and the
request behind it (`LAST`) is answered too. DENIED: the same, but the one answer says no; where there is no
doubt about the borders of the request, that will do. EITHER: any of them, but nothing else. `INNER` is what
a second reader might take for a request: its answer would be one too many.
"""

from dataclasses import dataclass

REFUSED, SERVED, DENIED, EITHER = "refused", "served", "denied", "either"
_NO = {400, 403, 421}

LAST = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
INNER = b"GET /healthz?smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n"
_CHUNKS = b"5\r\nhello\r\n0\r\n\r\n"


@dataclass(frozen=True, slots=True)
class Trick:
    name: str
    data: bytes
    outcome: str = REFUSED


def _post(
    fields: bytes, body: bytes = b"", version: bytes = b"HTTP/1.1", host: bytes = b"localhost"
) -> bytes:
    return b"POST /healthz %b\r\nHost: %b\r\n%b\r\n%b" % (version, host, fields, body)


def _for(host: bytes) -> bytes:
    return b"GET /healthz HTTP/1.1\r\nHost: %b\r\n\r\n" % host


def _get(target: bytes = b"/healthz", fields: bytes = b"", version: bytes = b"HTTP/1.1") -> bytes:
    return b"GET %b %b\r\nHost: localhost\r\n%b\r\n" % (target, version, fields)


_UPGRADE = b"Connection: upgrade\r\nUpgrade: h2c\r\n"
_TE = b"Transfer-Encoding: chunked\r\n"
_LENGTH = b"Content-Length: %d\r\n" % len(INNER)

# By name: header fields of a POST, its body, what it may lead to.
_FRAMING: dict[str, tuple[bytes, bytes, str]] = {
    "length and chunks": (b"Content-Length: 5\r\n" + _TE, b"0\r\n\r\n" + INNER, REFUSED),
    "chunks and length": (_TE + b"Content-Length: 5\r\n", b"0\r\n\r\n" + INNER, REFUSED),
    "two lengths": (b"Content-Length: 0\r\n" + _LENGTH, INNER, REFUSED),
    "the same length twice": (_LENGTH + _LENGTH, INNER, EITHER),
    "a list of lengths": (b"Content-Length: 0, %d\r\n" % len(INNER), INNER, REFUSED),
    "a signed length": (b"Content-Length: +%d\r\n" % len(INNER), INNER, REFUSED),
    "a negative length": (b"Content-Length: -1\r\n", INNER, REFUSED),
    "a hexadecimal length": (b"Content-Length: 0x10\r\n", INNER, REFUSED),
    "a length with a space in it": (b"Content-Length: 1 0\r\n", INNER, REFUSED),
    "a length with an underscore": (b"Content-Length: 1_0\r\n", INNER, REFUSED),
    "an empty length": (b"Content-Length: \r\n", INNER, REFUSED),
    "a length that overflows": (b"Content-Length: 18446744073709551621\r\n", INNER, REFUSED),
    "a length of a thousand digits": (b"Content-Length: " + b"9" * 1000 + b"\r\n", b"", REFUSED),
    "a length in Arabic digits": ("Content-Length: \u0665\r\n".encode(), INNER, REFUSED),
    "a length with zeros before it": (b"Content-Length: 0005\r\n", b"hello", EITHER),
    "a length with a space before its colon": (b"Content-Length : %d\r\n" % len(INNER), INNER, REFUSED),
    "a length on a folded line": (b"X: y\r\n Content-Length: 5\r\n", INNER[:0], EITHER),
    "a folded length": (b"Content-Length:\r\n 5\r\n", b"hello", REFUSED),
    "a length under a name with an underscore": (b"Content_Length: 5\r\n", b"", SERVED),
    "gzip before chunks": (b"Transfer-Encoding: gzip, chunked\r\n", _CHUNKS, REFUSED),
    "chunks before gzip": (b"Transfer-Encoding: chunked, gzip\r\n", _CHUNKS, REFUSED),
    "chunks twice in a list": (b"Transfer-Encoding: chunked, chunked\r\n", _CHUNKS, REFUSED),
    "two codings in two fields": (_TE + b"Transfer-Encoding: identity\r\n", _CHUNKS, REFUSED),
    "chunks in two fields": (_TE + _TE, _CHUNKS, REFUSED),
    "identity": (b"Transfer-Encoding: identity\r\nContent-Length: 5\r\n", b"hello", REFUSED),
    "identity before chunks": (b"Transfer-Encoding: identity, chunked\r\n", _CHUNKS, REFUSED),
    "xchunked": (b"Transfer-Encoding: xchunked\r\n", _CHUNKS, REFUSED),
    "chunked in quotes": (b'Transfer-Encoding: "chunked"\r\n', _CHUNKS, REFUSED),
    "chunked with a parameter": (b"Transfer-Encoding: chunked;x=y\r\n", _CHUNKS, REFUSED),
    "a vertical tab before chunked": (b"Transfer-Encoding: \x0bchunked\r\n", _CHUNKS, REFUSED),
    "a NUL before chunked": (b"Transfer-Encoding: \0chunked\r\n", _CHUNKS, REFUSED),
    "a space before the colon of chunked": (b"Transfer-Encoding : chunked\r\n", _CHUNKS, REFUSED),
    "a folded chunked": (b"Transfer-Encoding:\r\n chunked\r\n", _CHUNKS, REFUSED),
    "chunked after a bare line feed": (b"X: y\nTransfer-Encoding: chunked\r\n", _CHUNKS, REFUSED),
    "chunked after a bare carriage return": (b"X: y\rTransfer-Encoding: chunked\r\n", _CHUNKS, REFUSED),
    "CHUNKED in capitals": (b"TRANSFER-ENCODING: CHUNKED\r\n", _CHUNKS, SERVED),
    "an empty coding": (b"Transfer-Encoding: \r\nContent-Length: 5\r\n", b"hello", REFUSED),
    "chunked named by Connection": (b"Connection: Transfer-Encoding\r\n" + _TE, _CHUNKS, EITHER),
    "a chunk size with a sign": (_TE, b"+5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a negative chunk size": (_TE, b"-1\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk size with 0x": (_TE, b"0x5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk size that overflows": (_TE, b"10000000000000005\r\nhello\r\n0\r\n\r\n", REFUSED),
    "an empty chunk size": (_TE, b"\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a space before a chunk size": (_TE, b" 5\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk that is longer than its size": (_TE, b"3\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk that ends with a bare line feed": (_TE, b"5\r\nhello\n0\r\n\r\n", REFUSED),
    "a chunk size that ends with a bare line feed": (_TE, b"5\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk extension": (_TE, b"5;a=b\r\nhello\r\n0\r\n\r\n", EITHER),
    "a chunk extension with a line feed": (_TE, b"5;\nhello\r\n0\r\n\r\n", REFUSED),
    "a chunk extension of a megabyte": (_TE, b"5;" + b"x" * 1_000_000 + b"\r\nhello\r\n0\r\n\r\n", REFUSED),
    "a length among the trailers": (_TE, b"5\r\nhello\r\n0\r\nContent-Length: 9\r\n\r\n", EITHER),
    "a coding among the trailers": (_TE, b"5\r\nhello\r\n0\r\nTransfer-Encoding: chunked\r\n\r\n", EITHER),
    "a token among the trailers": (_TE, b"0\r\nAuthorization: Bearer x\r\nHost: evil\r\n\r\n", EITHER),
    "an upgrade among the trailers": (_TE, b"0\r\n" + _UPGRADE + b"\r\n", EITHER),
    "a request inside of a body": (_LENGTH, INNER, SERVED),
    "a request inside of a chunk": (_TE, b"%x\r\n%b\r\n0\r\n\r\n" % (len(INNER), INNER), SERVED),
    "an offer to upgrade": (_UPGRADE + b"Content-Length: 5\r\n", b"hello", EITHER),
    "an offer of a web socket": (b"Connection: Upgrade\r\nUpgrade: websocket\r\n", b"", EITHER),
    "an unknown expectation": (b"Expect: 200-ok\r\nContent-Length: 5\r\n", b"hello", EITHER),
    "two hosts": (b"Host: evil.example\r\n", b"", DENIED),
    "a field without a colon": (b"Nonsense\r\n", b"", REFUSED),
    "a field without a name": (b": x\r\n", b"", REFUSED),
    "a name with a space": (b"A B: x\r\n", b"", REFUSED),
    "a name with a NUL": (b"A\0B: x\r\n", b"", REFUSED),
    "a value with a NUL": (b"A: x\0y\r\n", b"", REFUSED),
    "a value with a bare carriage return": (b"A: x\ry\r\n", b"", REFUSED),
}  # fmt: skip

_WHOLE = [
    Trick("chunks in HTTP/1.0", _post(_TE, _CHUNKS, b"HTTP/1.0")),
    Trick("HTTP/2.0", _get(version=b"HTTP/2.0")),
    Trick("HTTP/0.9", b"GET /healthz\r\n\r\n"),
    Trick("HTTP/1.10", _get(version=b"HTTP/1.10")),
    Trick("http in small letters", _get(version=b"http/1.1")),
    Trick("the preface of HTTP/2", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"),
    Trick("a TLS hello", b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\0" * 40 + b"\r\n\r\n"),
    Trick("no host", b"GET /healthz HTTP/1.1\r\n\r\n", DENIED),
    Trick("an empty host", _for(b""), DENIED),
    Trick("a host behind brackets", _for(b"[::1].evil.com"), DENIED),
    Trick("a host behind a user", _for(b"localhost@evil.com"), DENIED),
    Trick("a host with a path", _for(b"localhost/evil.com"), DENIED),
    Trick("a host with a bad port", _for(b"localhost:evil.com"), DENIED),
    Trick("CONNECT", b"CONNECT evil.com:80 HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Trick("TRACE", b"TRACE /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", EITHER),
    Trick("a space in the target", _get(b"/healthz /evil")),
    Trick("a tab in the target", _get(b"/healthz\t/evil")),
    Trick("a target without a slash", _get(b"healthz"), EITHER),
    Trick("a target of another host", _get(b"http://evil.com/healthz"), EITHER),
    Trick("a space before the first field", b"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n"),
    Trick("a method with a control character", b"GE\x01T /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"),
    Trick("an empty line before the request", b"\r\n" + _get(), EITHER),
    Trick("bare line feeds all over", _get().replace(b"\r\n", b"\n"), EITHER),
    Trick("a GET with a body", _get(fields=_LENGTH) + INNER, SERVED),
    Trick("a GET with chunks", _get(fields=_TE) + _CHUNKS, SERVED),
]  # fmt: skip

TRICKS = [
    Trick(name, _post(fields, body), outcome) for name, (fields, body, outcome) in _FRAMING.items()
] + _WHOLE


def allowed(trick: Trick) -> tuple[str, ...]:
    every = {EITHER: (REFUSED, SERVED, DENIED), DENIED: (REFUSED, DENIED)}
    return every.get(trick.outcome, (trick.outcome,))


def outcome_of(statuses: list[int]) -> str:
    """What came back, in the words above; a list of statuses when it is none of them."""
    final = [status for status in statuses if status >= 200]
    # A connection that is reset takes an answer that was not read yet with it.
    if not final or (len(final) == 1 and final[0] >= 400):
        return REFUSED
    if len(final) == 2:
        return DENIED if final[0] in _NO else SERVED
    return f"answers {statuses}"
