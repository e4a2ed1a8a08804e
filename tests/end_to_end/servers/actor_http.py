"""The actor's HTTP side (`actor.py`): a plain answer, or a stream for calls and subscriptions."""

import json
import os
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from actor_stage import OPTIONS, PATIENCE_S, STAGE, Say

Perform = Callable[..., bool]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    perform: Perform

    def log_message(self, *_: Any, **__: Any) -> None:
        pass

    def plain(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def start_sse(self) -> Say:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        turn = threading.Lock()

        def say(frame: bytes) -> None:
            with turn:
                self.wfile.write(b"data: " + frame + b"\n\n")
                self.wfile.flush()

        return say

    def is_known(self) -> bool:
        if OPTIONS.era == "modern":
            if self.headers.get("mcp-protocol-version") == "2026-07-28":
                return True
            self.plain(400)
            return False
        if self.headers.get("mcp-session-id") in STAGE.sessions:
            return True
        self.plain(404)
        return False

    def do_POST(self) -> None:
        frame = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(frame)
        method = message.get("method")
        about = {
            "session": self.headers.get("mcp-session-id"),
            "headers": {name.lower(): value for name, value in self.headers.items()},
        }
        if "id" not in message or method is None:
            if self.is_known():
                self.perform(frame, lambda _: None, **about)
                self.plain(202)
        elif method in ("initialize", "server/discover"):
            answer: list[bytes] = []
            self.perform(frame, answer.append, **about)
            session = f"s{os.getpid()}-{time.monotonic_ns()}"
            extra = {"mcp_session_id": session} if OPTIONS.era == "legacy" and method == "initialize" else {}
            STAGE.sessions.update(extra.values())
            STAGE.declared.update({session: STAGE.declared.pop(None, {}) for session in extra.values()})
            if answer:
                self.plain(200, answer[0], content_type="application/json", **extra)
            else:
                time.sleep(PATIENCE_S)
        elif method not in ("tools/call", "subscriptions/listen"):
            if self.is_known():
                answer = []
                self.perform(frame, answer.append, **about)
                if answer:
                    self.plain(200, answer[0], content_type="application/json")
                else:
                    self.wait_gone()
        elif self.is_known():
            self.stream(frame, about)

    def stream(self, frame: bytes, about: dict[str, Any]) -> None:
        say = self.start_sse()
        rpc_id = json.dumps(json.loads(frame)["id"])
        gone = threading.Thread(target=self.watch, args=(rpc_id,), daemon=True)
        gone.start()
        try:
            self.perform(frame, say, **about)
        except OSError:
            STAGE.log(frame, end="broken")
        if b'"steps"' in frame and b'"hang"' in frame:
            self.wait_gone()

    def watch(self, rpc_id: str) -> None:
        """Modern: the closed stream is the cancellation."""
        self.wait_gone()
        STAGE.log(rpc_id.encode(), end="closed")
        if OPTIONS.era == "modern":
            STAGE.said(lambda: STAGE.cancelled.add(rpc_id))

    def wait_gone(self) -> None:
        try:
            self.connection.recv(1)
        except OSError:
            return

    def do_GET(self) -> None:
        if OPTIONS.era == "modern":
            self.plain(405, allow="POST")
        elif self.is_known():
            say = self.start_sse()
            STAGE.log(b"", get=self.headers.get("mcp-session-id"))
            STAGE.listening.append(say)
            self.wait_gone()
            STAGE.listening.remove(say)

    def do_DELETE(self) -> None:
        session = self.headers.get("mcp-session-id", "")
        STAGE.log(b"", delete=session)
        STAGE.sessions.discard(session)
        self.plain(200)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128

    def handle_error(self, *_: Any, **__: Any) -> None:
        pass  # a client that hung up


def serve(perform: Perform, port: int) -> None:
    Handler.perform = staticmethod(perform)
    server = Server(("127.0.0.1", port), Handler)
    print(server.server_address[1], flush=True)
    server.serve_forever()
