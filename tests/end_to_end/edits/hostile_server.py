"""An MCP server over stdio or HTTP that does not mean well. Its first argument says how."""

import json
import socketserver
import sys
from collections.abc import Iterator

MANY = 200_000


def tools(count: int) -> Iterator[bytes]:
    yield b'{"tools":['
    for at in range(count):
        yield b"%s" % (b"," if at else b"")
        yield b'{"name":"t%d","description":"does %d","inputSchema":{"type":"object"}}' % (at, at)
    yield b"]}"


def answer(request: dict[str, object], kind: str) -> bytes | None:
    said = json.dumps(request["id"]).encode()
    if request["method"] == "initialize":
        about = b'"capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}'
        result = b'{"protocolVersion":"2025-06-18",%b}' % about
    elif request["method"] == "tools/list":
        result = b"".join(tools(MANY if kind == "many" else 2))
    else:
        return b'{"jsonrpc":"2.0","id":%b,"error":{"code":-32601,"message":"no"}}\n' % said
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}\n' % (said, result)


def over_stdio(kind: str) -> None:
    out = sys.stdout.buffer
    if kind == "endless":
        while True:
            out.write(b"x" * 65536)
    if kind == "noise":
        while True:
            out.write(b'{"jsonrpc":"2.0","method":"notifications/message","params":{}}\n' * 100)
            sys.stderr.write("hunter2 " * 1000)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if kind == "silent" or "id" not in request:
            continue
        out.write(answer(request, kind) or b"")
        out.flush()


class OverHttp(socketserver.StreamRequestHandler):
    kind = "redirect"

    def handle(self) -> None:
        self.connection.recv(65536)
        if self.kind == "redirect":
            self.wfile.write(b"HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/latest\r\n\r\n")
        elif self.kind == "login":
            self.wfile.write(
                b"HTTP/1.1 401 Unauthorized\r\nwww-authenticate: Bearer\r\ncontent-length: 0\r\n\r\n"
            )
        elif self.kind == "headers":
            self.wfile.write(b"HTTP/1.1 200 OK\r\n")
            try:
                while True:
                    self.wfile.write(b"x-a: %b\r\n" % (b"y" * 60_000))
            except OSError:
                return
        elif self.kind == "silent":
            self.connection.recv(65536)


if __name__ == "__main__":
    over_stdio(sys.argv[1])
