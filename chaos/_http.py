"""HTTP/1.1 with bodies of a known length, for an upstream and for clients that are no load of their own."""

import asyncio


async def read_message(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes]:
    """First line, headers (lower case) and body. Raises OSError, asyncio.IncompleteReadError."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
    first, *lines = head.strip().split("\r\n")
    headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
    return first, headers, await reader.readexactly(int(headers.get("content-length", "0")))


def request(method: str, path: str, body: bytes, headers: dict[str, str]) -> bytes:
    spelled = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\n{spelled}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def response(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body
