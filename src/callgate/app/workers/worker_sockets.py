"""The listening sockets of all workers: opened by their supervisor, which keeps them while a worker is away.

On Linux each worker has sockets of its own on the same address (SO_REUSEPORT): the kernel spreads connections
by their addresses, evenly also when many come at once. Elsewhere, and on a Unix socket, all accept on the
same ones. What comes for a worker that is being started again waits in its queue.
"""

import socket
import sys
from collections.abc import Sequence

from callgate.edge.http.listening import BACKLOG, cannot_listen

_HAS_OWN_EACH = sys.platform == "linux"


class WorkerSockets:
    def __init__(self, host: str, port: int, count: int, shared: socket.socket | None = None) -> None:
        """`shared`: listens already, instead of host and port. Raises SetupError."""
        self._of_worker: dict[int, list[socket.socket]] = {}
        self._has_own_each = _HAS_OWN_EACH and shared is None
        self.port = port
        if shared is not None:
            self._of_worker = {number: [shared] for number in range(count)}
            return
        try:
            self._addresses = _addresses(host, port)
            first = [self._first(address) for address in self._addresses]
        except (OSError, OverflowError) as problem:  # a name that is not found is an OSError too
            raise cannot_listen(host, port, problem) from problem
        self._of_worker[0] = first
        self._addresses = [
            (family, (address[0], sock.getsockname()[1], *address[2:]))
            for (family, address), sock in zip(self._addresses, first, strict=True)
        ]
        self.port = first[0].getsockname()[1]
        for number in range(1, count):
            self.open(number)
        for sock in self._all():
            sock.listen(BACKLOG)

    def of(self, number: int) -> Sequence[socket.socket]:
        return self._of_worker[number]

    def open(self, number: int) -> None:
        """Again, if they were closed."""
        if self._of_worker.get(number):
            return
        if not self._has_own_each:
            self._of_worker[number] = self._of_worker[0]
            return
        self._of_worker[number] = [_bound(family, address) for family, address in self._addresses]
        for sock in self._of_worker[number]:
            sock.listen(BACKLOG)

    def shut(self, number: int) -> None:
        """The worker will be away for long: its share of connections goes to the others."""
        if self._has_own_each and sum(map(bool, self._of_worker.values())) > 1:
            for sock in self._of_worker.pop(number, ()):
                sock.close()

    def keep_only(self, number: int) -> None:
        """In a worker: the others' sockets are not ours to hold open."""
        own = self._of_worker[number]
        for sock in self._all():
            if sock not in own:
                sock.close()

    def close(self) -> None:
        for sock in self._all():
            sock.close()

    def _all(self) -> list[socket.socket]:
        return list({id(sock): sock for several in self._of_worker.values() for sock in several}.values())

    def _first(self, address: "_Address") -> socket.socket:
        """Bound before others may share the address: who listens there already is noticed, also if it would
        share."""
        sock = _bound(*address, shares=False)
        if _HAS_OWN_EACH:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        return sock


_Address = tuple[int, tuple[object, ...]]


def _addresses(host: str, port: int) -> list[_Address]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def _bound(family: int, address: tuple[object, ...], *, shares: bool = _HAS_OWN_EACH) -> socket.socket:
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if shares:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        sock.setblocking(False)
        sock.bind(address)
    except BaseException:
        sock.close()
        raise
    return sock
