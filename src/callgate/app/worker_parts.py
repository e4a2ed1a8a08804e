"""One of several worker processes that are one gateway: its place, and its parts among the others.

Imported only with more than one worker. A worker is a replica to the others, with a directory of files and
Unix sockets in place of a database and a network (docs/decisions/0027-workers-of-one-machine.md).
"""

import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import callgate
from callgate.app.membership import MemberParts, Membership, make_parts
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config
from callgate.edge.hop_listener import HopListener
from callgate.edge.listener import Listener
from callgate.ports.http_app import HttpApp, MountedApp, Receive, Scope, Send
from callgate.ports.record_queries import RecordExcerpts
from callgate.replicas.directory import Announcement
from callgate.replicas.file_directory import FileDirectory
from callgate.replicas.fleet import ReplicaFleet
from callgate.replicas.hop_client import HopClient
from callgate.replicas.lead import EXCERPT_PATH, LeadWorker, OtherWorkersOf, answer_excerpt, socket_name
from callgate.replicas.members import Members
from callgate.replicas.sealed_ids import new_gateway_name
from callgate.upstreams.http.streamed_answer import UNIX


@dataclass(frozen=True, slots=True)
class WorkerPlace:
    """What a worker is told at its start."""

    number: int  # 0 is the lead: it has the record's store, and answers for all
    count: int
    url: str  # of the gateway
    listening: Sequence[socket.socket]
    state: Path  # the state folder
    files: Path  # the directory
    sockets: Path  # folder of the Unix sockets; private to this user
    supervisor_pid: int
    lifeline: int = -1  # reads nothing until the supervisor is gone
    beats: memoryview | None = None  # a byte for each worker, in memory that all share

    @property
    def is_lead(self) -> bool:
        return self.number == 0


class Workers(Membership):
    """This worker among the others. The same to a `Gateway` as `Replicas`."""

    def __init__(
        self, parts: MemberParts, place: WorkerPlace, directory: FileDirectory, peers: HopClient
    ) -> None:
        super().__init__(parts)
        self.place = place
        self.lead = None if place.is_lead else LeadWorker(directory, peers)
        gateway = parts.homes.gateway
        self.others = OtherWorkersOf(directory, peers, gateway, place.count) if place.is_lead else None
        self._directory = directory
        self._path: Path | None = None

    async def start(self, public: Listener, excerpts: RecordExcerpts | None) -> None:
        """`excerpts`: of the record, where this worker has it."""
        app = public.made_of[1]
        if excerpts is not None:
            app = MountedApp(_with_excerpts(app.serve, excerpts), app.is_open)
        self.listener = HopListener(public, self.gate, app)
        path = self._path = self.place.sockets / socket_name(self.place.number, self.homes.gateway)
        await self.listener.start_at(path)
        await self.join(lambda: f"{UNIX}{path}")
        if self.place.is_lead:
            await self._directory.take_lead()

    async def close_doors(self) -> None:
        await super().close_doors()
        if self._path is not None:
            self._path.unlink(missing_ok=True)

    async def close(self) -> None:
        await super().close()
        with contextlib.suppress(OSError):  # others are still there, or the supervisor removed it
            self.place.sockets.rmdir()


def open_workers(
    config: Config,
    key: bytes,
    redact: Callable[[str], str],
    redact_document: Callable[[bytes], bytes],
    place: WorkerPlace,
) -> Workers:
    gateway = new_gateway_name()
    directory = FileDirectory(place.files, gateway)
    me = Announcement(gateway, "", "", "serving", callgate.__version__, fingerprint(config))
    members = Members(directory, me, key, lambda address: _is_ours(address, place.sockets))
    fleet = ReplicaFleet(directory, members, "", redact, f"the folder {place.files}")
    parts = make_parts(members, directory, key, config.record.session_gap_s, redact_document, fleet)
    assert parts.peers is not None
    return Workers(parts, place, directory, parts.peers)


def _is_ours(address: str, sockets: Path) -> bool:
    return address.startswith(UNIX) and Path(address.removeprefix(UNIX)).parent == sockets


def _with_excerpts(app: HttpApp, excerpts: RecordExcerpts) -> HttpApp:
    """An agent's own calls are copied out of the store by the worker that has it."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["path"] != EXCERPT_PATH:
            await app(scope, receive, send)
            return
        body = await answer_excerpt(excerpts, (await receive())["body"])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": body})

    return serve
