"""One of several worker processes that are one gateway: its place, and its parts among the others.

Imported only with more than one worker. A worker is a replica to the others, with a directory of files and
Unix sockets in place of a database and a network (docs/decisions/0027-workers-of-one-machine.md).
"""

import asyncio
import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import callgate
from callgate.config.show import fingerprint
from callgate.config.specs.config import Config
from callgate.edge.hop_listener import HopListener
from callgate.edge.listener import Listener
from callgate.ports.http_app import HttpApp, MountedApp, Receive, Scope, Send
from callgate.ports.record_excerpts import RecordExcerpts
from callgate.replicas.directory import Announcement
from callgate.replicas.file_directory import FileDirectory
from callgate.replicas.fleet import ReplicaFleet
from callgate.replicas.homes import ReplicaHomes
from callgate.replicas.hop_client import HopClient
from callgate.replicas.hop_gate import SignedHopGate
from callgate.replicas.hop_seal import HopSeal
from callgate.replicas.lead import EXCERPT_PATH, LeadWorker, OtherWorkersOf, answer_excerpt, socket_name
from callgate.replicas.members import Members
from callgate.replicas.sealed_ids import SealedIds, new_gateway_name
from callgate.upstreams.http.streamed_answer import UNIX, StreamingTransport


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

    @property
    def is_lead(self) -> bool:
        return self.number == 0


@dataclass(slots=True)
class Workers:
    """This worker among the others. The same to a `Gateway` as `Replicas`."""

    place: WorkerPlace
    homes: ReplicaHomes
    members: Members
    peers: HopClient
    gate: SignedHopGate
    fleet: ReplicaFleet
    directory: FileDirectory
    transport: StreamingTransport
    lead: LeadWorker | None  # None: we are it
    others: OtherWorkersOf | None  # None: we are not the lead
    listener: HopListener | None = None
    path: Path | None = None

    async def start(self, public: Listener, excerpts: RecordExcerpts | None) -> None:
        """`excerpts`: of the record, where this worker has it."""
        app = public.made_of[1]
        if excerpts is not None:
            app = MountedApp(_with_excerpts(app.serve, excerpts), app.is_open)
        self.listener = HopListener(public, self.gate, app)
        self.path = self.place.sockets / socket_name(self.place.number, self.homes.gateway)
        await self.listener.start_at(self.path)
        self.members.after_beat = self._after_beat
        await self.members.start(lambda: f"{UNIX}{self.path}")
        await self.fleet.tell()
        self.fleet.start()
        if self.place.is_lead:
            await self.directory.take_lead()

    async def _after_beat(self, since_s: float) -> None:
        await self.homes.tell(since_s)
        await self.fleet.tell()

    async def say_leaving(self) -> None:
        if self.members.is_started and self.members.me.state == "serving":
            await self.members.say("leaving")

    async def close_doors(self) -> None:
        if self.listener is not None:
            await self.listener.close()
        if self.path is not None:
            self.path.unlink(missing_ok=True)

    async def close(self) -> None:
        """When all sessions were let go of: whoever hears that we left may have them."""
        await self.fleet.close()
        await self.homes.close()
        await self.members.leave()
        await asyncio.gather(self.transport.close(), self.directory.close())
        with contextlib.suppress(OSError):  # others are still there, or the supervisor removed it
            self.place.sockets.rmdir()


def open_workers(
    config: Config,
    key: bytes,
    redact: Callable[[str], str],
    redact_document: Callable[[bytes], bytes],
    place: WorkerPlace,
) -> Workers:
    gap_s = config.record.session_gap_s
    gateway = new_gateway_name()
    directory = FileDirectory(place.files, gateway)
    me = Announcement(gateway, "", "", "serving", callgate.__version__, fingerprint(config))
    members = Members(directory, me, key, lambda address: _is_ours(address, place.sockets))
    seal, transport = HopSeal(key), StreamingTransport()
    peers = HopClient(members, seal, transport)
    homes = ReplicaHomes(directory, SealedIds(key, gateway, gap_s), gateway, gap_s, redact_document)
    fleet = ReplicaFleet(directory, members, "", redact, f"the folder {place.files}")
    fleet.adopted, fleet.hops = homes.adopted, peers.outcomes
    return Workers(
        place=place,
        homes=homes,
        members=members,
        peers=peers,
        gate=SignedHopGate(seal, gateway),
        fleet=fleet,
        directory=directory,
        transport=transport,
        lead=None if place.is_lead else LeadWorker(directory, peers),
        others=OtherWorkersOf(directory, peers, gateway, place.count) if place.is_lead else None,
    )


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
