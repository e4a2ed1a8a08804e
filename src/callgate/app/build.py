"""Makes every part, and gives it the parts that it needs."""

import asyncio
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from callgate.api.http_api import ApiParts, HttpApi
from callgate.api.metrics import CallMeter
from callgate.api.page_files import PageFiles
from callgate.app.api_needs import Readiness, RelayCaller
from callgate.app.mcp_servers import Outward, guarded_of, offer_rules, share_of_one
from callgate.app.principals import gate_rules
from callgate.app.process import Descriptors, listener_limits, pool_limits, raise_limit
from callgate.app.record import Record, make_record
from callgate.app.redaction.redactors import LogWithoutSecrets
from callgate.app.server_care import UpstreamCare
from callgate.app.serving.configuration import Served
from callgate.app.serving.upstreams import ServedUpstreams
from callgate.app.setup.setup_problems import setup_problems
from callgate.app.state_folder import make_state_folder, state_key
from callgate.app.telling.audit import AuditedSink
from callgate.app.telling.telemetry import TracingSink, exporting
from callgate.app.trust import OperatorsDesk, open_trust
from callgate.background import Background
from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblems
from callgate.edge.listener import Listener
from callgate.edge.local_socket import LocalSocket
from callgate.http_client.client import HttpClient
from callgate.model.errors import SetupError
from callgate.model.events import Event
from callgate.ports.event_sink import EventSink
from callgate.ports.http_app import MountedApp
from callgate.ports.record_reader import StoreProgress
from callgate.recorder.flush.tokens import TokenCounter
from callgate.relay.lists.listings import DEFAULT_PATIENCE_S
from callgate.relay.parked_calls import BridgeSettings
from callgate.relay.relay import Relay
from callgate.this_process import keep_memory_private
from callgate.upstreams.child.slots import ChildSlots
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.link.own_lines import Shares

if TYPE_CHECKING:
    from callgate.app.replicas import Replicas
    from callgate.app.worker_parts import WorkerPlace, Workers


class _Unrecorded:
    """`[record] enabled = false`: the sink that keeps nothing."""

    def emit(self, event: Event) -> None:
        pass


@dataclass(frozen=True, slots=True)
class Gateway:
    relay: Relay
    sink: EventSink  # where what happens is told
    record: Record | None
    audit: AuditedSink | None
    exporter: TracingSink | None
    api: HttpApi
    listener: Listener
    local_socket: LocalSocket
    outward: Outward
    served: Served
    upstreams: ServedUpstreams
    descriptors: Descriptors
    readiness: Readiness
    trust: OperatorsDesk
    log: LogWithoutSecrets
    replicas: "Replicas | None" = None
    workers: "Workers | None" = None

    def load_parsers(self) -> None:
        """Before the first statement: an import takes descriptors, and an attack may leave us none."""
        for server in self.upstreams.sql_servers:
            server.load_parser()

    def leave(self) -> None:
        """We are about to stop, and still serve: balancers and clients are told to go elsewhere."""
        self.readiness.leave()
        self.listener.leave()

    async def close(self) -> None:
        """Doors first, then what is behind them; the record last, so that it hears of every end."""
        shared = self.replicas or self.workers
        if shared is not None:
            await shared.say_leaving()
        self.relay.retire()
        self.api.retire()
        await asyncio.gather(self.listener.close(), self.local_socket.close())
        if shared is not None:
            await shared.close_doors()
            self.relay.end_sessions()
            await shared.close()  # now, so that others go on with our sessions while we close the rest
        await self.trust.close()
        await asyncio.gather(self.relay.close(), self.upstreams.close())
        await self.outward.close()
        for sink in (self.exporter, self.audit):
            if sink is not None:
                await asyncio.to_thread(sink.close)
        if self.record is not None:
            await self.record.close()
        self.log.close()


async def build_gateway(
    loaded: Loaded,
    keeps_store: bool,
    list_patience_s: float = DEFAULT_PATIENCE_S,
    *,
    is_replica: bool = False,
    place: "WorkerPlace | None" = None,
    accepts: bool = True,
) -> Gateway:
    """`keeps_store`: whether this process holds the record's store while it runs (see Recorder).
    `list_patience_s`: how long a list waits for servers that start. `is_replica`: it is one of several, if
    the configuration says so; the client of a pipe has its gateway to itself. `place`: as one of
    several workers. `accepts`: False to compare servers with the lock and to write nothing."""
    config = loaded.config
    keep_memory_private()
    descriptors = raise_limit()
    background = Background()
    state = make_state_folder(config)
    if problems := list(setup_problems(config)):
        raise ConfigProblems(problems)
    served = Served(config)
    rules = gate_rules(config)
    key = state_key(config.server.state_key, state)
    replicas = _open_replicas(served, key) if is_replica and config.replicas.is_on else None
    workers = _open_workers(served, key, place) if place is not None else None
    shared = replicas or workers
    lead = workers.lead if workers is not None else None  # None: the record is ours to read
    offers_record = config.record.offer
    record = None
    if config.record.enabled:
        if place is not None:  # one process stores for all, but for a database that is read as a whole
            keeps_store = place.is_lead or config.store.is_postgres
        record = make_record(
            config,
            keeps_store or (offers_record and place is None),
            background,
            served.redactors,
            stores_apart=keeps_store,
        )
        await _check_store(record)
    recorder = record.recorder if record is not None else None
    if record is not None:
        served.dialect = record.dialect
    outward = Outward(
        Warden(),
        HttpClient(limits=pool_limits(config, descriptors)),
        served.redact,
        ChildSlots(config.server.max_children),
        Shares(share_of_one(config)),
        guarded_of(config, loaded.origin),
    )
    outward.use(config, pool_limits(config, descriptors))
    excerpts = record.excerpts if record is not None else None

    async def learn_password(password: str) -> None:
        await served.learn_password(password)
        if record is not None:
            record.use_redactors(served.config, served.redactors)

    seen = lead if lead is not None and excerpts else excerpts
    upstreams = ServedUpstreams(outward, state, seen, learn_password)
    meter = CallMeter(recorder or _Unrecorded())
    audit = AuditedSink(meter, served.redact, background) if config.server.audit_stderr else None
    exporter = exporting(config, audit or meter, served.redact, background)
    sink = exporter or audit or meter
    trust = open_trust(served, state, loaded.lock_path, writes=accepts)
    relay = Relay(
        await upstreams.open(config),
        sink=sink,
        session_gap_s=config.record.session_gap_s,
        bridge=BridgeSettings(
            config.server.answer_timeout_s, key, shared.homes.gateway if shared is not None else None
        ),
        homes=shared.homes if shared is not None else None,
        rules=offer_rules(config),
        record_gate=recorder,
        tracer=exporter.tracing if exporter is not None else None,
        list_patience_s=list_patience_s,
        faces=trust,
    )
    desk = OperatorsDesk(trust, relay)
    readiness = Readiness(recorder)
    api = HttpApi(
        ApiParts(
            relay,
            RelayCaller(relay),
            record=record.reader if record is not None else None,
            queries=record.queries if record is not None else None,
            snapshots=record.snapshots if record is not None else None,
            feed=record.feed if record is not None else None,
            meter=meter,
            sources=served.sources,
            schema_of=upstreams.schema_of,
            care=UpstreamCare(served, upstreams),
            setup=served.shown,
            problems=lambda: [
                *background.problems(),
                *_archive_problems(record),
                *filter(None, (desk.problem,)),
            ],
            trust=desk,
            reads_record=lead is None,
            others=workers.others if workers is not None else None,
            obstacle=readiness.obstacle,
            fleet=shared.fleet if shared is not None else None,
            count_tokens=TokenCounter().count,
            redact=served.redact,
            redact_document=served.redact_document,
            page=PageFiles.bundled(),
            tell=sink.emit,
        )
    )
    mounted = MountedApp(api.app(), api.is_open)
    listener = Listener(relay, mounted, rules, listener_limits(config, descriptors), sink)
    local_socket = LocalSocket(relay, sink, listener.gate)
    if shared is not None and relay.where is not None:
        shared.homes.on_taken = relay.where.give_up
        shared.fleet.health = relay.health
        shared.fleet.on_living = lambda living: upstreams.share(served.config, living)
        if record is not None:
            shared.fleet.progress = partial(_progress, record)
        listener.mcp.join(shared.homes, shared.peers, relay.where)
    desk.start()
    if lead is not None:
        listener.pass_app_on(lead, api.is_answered_by_each)
    return Gateway(
        relay,
        sink,
        record,
        audit,
        exporter,
        api,
        listener,
        local_socket,
        outward,
        served,
        upstreams,
        descriptors,
        readiness,
        desk,
        LogWithoutSecrets(served.hide_secrets),
        replicas,
        workers,
    )


def _open_replicas(served: Served, key: bytes) -> "Replicas":
    """Nothing of it, and no driver, is imported by a gateway that is alone."""
    from callgate.app.replicas import open_replicas

    return open_replicas(served.config, key, served.redact, served.redact_document)


def _progress(record: Record) -> StoreProgress | None:
    return record.reader.backlog().store


def _open_workers(served: Served, key: bytes, place: "WorkerPlace") -> "Workers":
    from callgate.app.worker_parts import open_workers

    return open_workers(served.config, key, served.redact, served.redact_document, place)


def _archive_problems(record: Record | None) -> list[str]:
    archive = record.upkeep.archive if record is not None else None
    problem = archive.problem() if archive is not None else None
    return [] if problem is None else [problem]


async def _check_store(record: Record) -> None:
    try:
        await record.check()
    except SetupError:
        await record.close()
        raise
