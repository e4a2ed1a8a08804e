"""Looks after sources and servers: what is wrong with one (`callgate doctor` and the API ask), how it is
configured, and to try it again. It asks over the connections that it is given, and opens none.
"""

import asyncio
import shlex
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

import callgate
from callgate.app.mcp_servers import tool_choices
from callgate.app.serving.configuration import Served
from callgate.app.serving.upstreams import ServedUpstreams
from callgate.config.specs.config import Config, McpServerSpec, SourceSpec
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError, SourceError
from callgate.model.exchange import Hop
from callgate.model.health import State
from callgate.model.identity import LOCAL
from callgate.model.offers import OfferKind
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.ports.server_care import DoctorFinding, ServerFacts
from callgate.ports.upstream import Asker, RetryingUpstream, Upstream
from callgate.relay.lists.catalog import Part
from callgate.relay.lists.list_reports import listing_notes
from callgate.relay.lists.public_names import short_servers
from callgate.relay.lists.read_listing import ListReading, read_page, read_part
from callgate.relay.lists.territory import Territory
from callgate.sql.server.server import SqlServer
from callgate.upstreams.link.call_limits import DEFAULT_CALL_TIMEOUT_S
from callgate.wire.revisions import MODERN_REVISIONS

# A database or server that takes longer to say hello is not one that an agent can use.
PATIENCE_S = 15.0
# A person waits for it at the page. A program that has to be downloaded goes on starting.
_RETRY_S = 10.0


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One source or server, or the directory of replicas."""

    name: str
    kind: str  # "sql" | "mcp" | "replicas" | "record"
    address: str  # without a password
    reachable: bool
    title: str = ""  # what people call it, where that is not its name
    version: str = ""
    account: str = ""
    role: str = ""
    mode: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    findings: tuple[DoctorFinding, ...] = ()


class UpstreamCare:
    """Implements `ports.ServerCare`."""

    def __init__(self, served: Served, upstreams: ServedUpstreams) -> None:
        self._served = served
        self._upstreams = upstreams

    def facts(self, name: str) -> ServerFacts | None:
        if (source := self._source(name)) is not None:
            return _source_facts(source)
        server = self._served.config.mcp_servers.get(name)
        return _server_facts(server) if server is not None else None

    def _source(self, name: str) -> SourceSpec | None:
        return next((spec for spec in self._served.config.sources if spec.id == name), None)

    async def retry(self, name: str) -> None:
        upstream = self._upstreams.get(name)
        if isinstance(upstream, RetryingUpstream):
            try:
                await asyncio.wait_for(upstream.retry(), _RETRY_S)
            except TimeoutError:
                return  # its health says how it is

    async def examine(self, name: str) -> Sequence[DoctorFinding]:
        upstream = self._upstreams.get(name)
        if upstream is None:
            return ()
        if (source := self._source(name)) is not None:
            return (await examine_source(source, upstream)).findings
        config = self._served.config
        servers = [one for one, spec in config.mcp_servers.items() if not spec.disabled]
        if name not in servers:
            return ()
        return (await examine_server(upstream, readings_of(config, servers)[name])).findings


def _source_facts(spec: SourceSpec) -> ServerFacts:
    limits = {
        "timeout_s": spec.timeout_s,
        "max_rows": spec.max_rows,
        "character_limit": spec.character_limit,
        "pool_size": spec.pool_size,
    }
    return ServerFacts(spec.shown()["dsn"], limits)


def _server_facts(spec: McpServerSpec) -> ServerFacts:
    limits = {
        "timeout_s": spec.timeout_s or DEFAULT_CALL_TIMEOUT_S,
        "start_timeout_s": spec.start_limit_s,
    }
    # As `callgate config show` tells it: secrets masked, and what a variable filled in as it was written.
    shown = spec.shown()
    address = shown["url"] if spec.command is None else shlex.join([shown["command"], *shown["args"]])
    return ServerFacts(address, limits)


async def examine_source(spec: SourceSpec, upstream: Upstream) -> Diagnosis:
    blank = Diagnosis(spec.id, "sql", str(spec.dsn), reachable=False, mode=spec.mode)
    if not isinstance(upstream, SqlServer):
        return replace(blank, findings=(DoctorFinding("problem", upstream.health().detail),))
    try:
        posture = await asyncio.wait_for(upstream.posture(), PATIENCE_S)
    except SourceError as error:
        trouble = upstream.trouble() or f"{error.message} {error.operator_hint}".strip()
        return replace(blank, findings=(DoctorFinding("problem", trouble),))
    except CallgateError as error:
        return replace(blank, findings=(failed(error),))
    except TimeoutError:
        return replace(blank, findings=(too_slow(),))
    findings = tuple(
        DoctorFinding(finding.severity.value, finding.text, finding.advice) for finding in posture.findings
    )
    return replace(
        blank,
        reachable=True,
        version=posture.version,
        account=posture.account,
        role=posture.role,
        settings=posture.settings,
        findings=findings,
    )


def readings_of(config: Config, servers: list[str]) -> dict[str, ListReading]:
    """How each server's tools are read, as the gateway would."""
    names = [*(source.id for source in config.sources), *servers]
    territory, short, choices = Territory(names), short_servers(names), tool_choices(config)
    most = config.server.max_offers
    return {
        name: ListReading(OfferKind.TOOL, name, territory, most, short=short[name], choice=choices.get(name))
        for name in servers
    }


async def examine_server(upstream: Upstream, reading: ListReading) -> Diagnosis:
    blank = Diagnosis(upstream.name, "mcp", "", reachable=False, title=upstream.health().title or "")
    hop = Hop(upstream.name, "tools/list", b"", started_mono=time.monotonic())
    try:
        findings = await asyncio.wait_for(_list_tools(upstream, hop, reading), PATIENCE_S)
    except CallgateError as error:
        return replace(blank, findings=(failed(error),))
    except TimeoutError:
        health = upstream.health()
        if health.state is not State.STARTING:
            return replace(blank, findings=(too_slow(),))
        text = f"It is not up after {PATIENCE_S:g} s: {health.detail}."
        advice = "The gateway waits longer for it; after a first download it starts faster."
        return replace(blank, findings=(DoctorFinding("warning", text, advice),))
    version = " ".join(filter(None, (hop.server_version, hop.server_protocol)))
    return replace(blank, reachable=True, version=version, findings=tuple(findings))


async def _list_tools(upstream: Upstream, hop: Hop, reading: ListReading) -> list[DoctorFinding]:
    """What the server says against it, or what becomes of its first page of tools."""
    now_s = time.time()
    envelope = Envelope(Era.MODERN, MODERN_REVISIONS[-1], "callgate-doctor", callgate.__version__)
    session = Session("doctor", LOCAL, "stdio", envelope, now_s, now_s)
    reply = await upstream.ask(hop, Asker(envelope, session, b"1"), tell_nobody)
    if reply.fault is not None:
        text = f"It answers tools/list with an error: {reply.fault.message[:500]}"
        return [DoctorFinding("warning", text)]
    part = await read_part(reading, [read_page(OfferKind.TOOL, upstream.name, reply.result or b"{}")])
    return noted(part)


def failed(error: CallgateError) -> DoctorFinding:
    return DoctorFinding("problem", error.message, error.hint)


def noted(part: Part) -> list[DoctorFinding]:
    """What was left out of its tools, and why."""
    return [DoctorFinding("note", note) for note in listing_notes([part], "tools")]


def too_slow() -> DoctorFinding:
    return DoctorFinding(
        "problem", f"It did not answer within {PATIENCE_S:g} s.", "See whether it is overloaded."
    )
