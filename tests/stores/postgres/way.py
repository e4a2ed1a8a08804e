"""A way to the database that a test can cut: a TCP forwarder in a thread of its own."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

_COMMIT = b"COMMIT\x00"


class Way:
    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = []
        self.is_open = True
        self._flows = threading.Event()
        self._flows.set()
        self.loses_next_commit = False
        self.lost_commits = 0
        self.heard: bytearray | None = None  # what clients sent, once somebody wants to know
        self._accepting = threading.Thread(target=self._accept, daemon=True)
        self._accepting.start()

    def cut(self) -> None:
        """Whoever is connected is reset, whoever comes is refused."""
        self.is_open = False
        self._end_all()

    def hang(self) -> None:
        """Connections stay, new ones are taken, and nothing comes through any more."""
        self._flows.clear()

    def restore(self) -> None:
        if not self._flows.is_set():
            self._end_all()
            self._flows.set()
        self.is_open = True

    def close(self) -> None:
        self._flows.set()
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # else the thread that accepts keeps the port
        self._accepting.join()
        self._listener.close()
        self._end_all()

    def _end_all(self) -> None:
        sockets, self._sockets = self._sockets, []
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if not self.is_open:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._target_port))
                self._sockets += [client, server]
                for source, target, is_client in ((client, server, True), (server, client, False)):
                    threading.Thread(target=self._pass, args=(source, target, is_client), daemon=True).start()

    def _pass(self, source: socket.socket, target: socket.socket, is_client: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                if is_client and self.heard is not None:
                    self.heard += data
                if is_client and self.loses_next_commit and _COMMIT in data:
                    self.loses_next_commit = False
                    self.lost_commits += 1
                    source.shutdown(socket.SHUT_RDWR)  # the client hears no answer
                    target.sendall(data)  # and the server commits
                    target.recv(65536)
                    break
                target.sendall(data)
        for one in (source, target):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextmanager
def way_to(port: int) -> Iterator[Way]:
    way = Way(port)
    try:
        yield way
    finally:
        way.close()
