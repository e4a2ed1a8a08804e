"""`callgate doctor`: ask every source and every server how it is, once, and say what to do about it.

Opens nothing but them: no listener, no record. Counterpart: `cli.commands.doctor_command` shows it.
"""

import asyncio
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace

import callgate
from callgate.app.mcp_servers import Outward, open_mcp_server, tool_choices
from callgate.app.redactors import redact_all
from callgate.app.sources import open_sources
from callgate.config.specs.config import Config, SourceSpec
from callgate.model.envelope import Envelope, Era
from callgate.model.errors import CallgateError, SourceError
from callgate.model.exchange import Hop
from callgate.model.health import State
from callgate.model.identity import LOCAL
from callgate.model.offers import OfferKind
from callgate.model.reply import tell_nobody
from callgate.model.session import Session
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.lists.listing_notes import listing_notes
from callgate.relay.lists.public_names import short_servers
from callgate.relay.lists.read_listing import ListReading, read_page, read_part
from callgate.relay.lists.territory import Territory
from callgate.sql.server.server import SqlServer
from callgate.upstreams.child.warden import Warden
from callgate.upstreams.http.client import HttpClient
from callgate.wire.revisions import MODERN_REVISIONS

# A database or server that takes longer to say hello is not one that an agent can use.
_PATIENCE_S = 15.0


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    severity: str  # "note" | "warning" | "problem"
    text: str
    advice: str = ""


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """One source or server, or the directory of replicas."""

    name: str
    kind: str  # "sql" | "mcp" | "replicas"
    address: str  # without a password
    reachable: bool
    title: str = ""  # what people call it, where that is not its name
    version: str = ""
    account: str = ""
    role: str = ""
    mode: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    findings: tuple[DoctorFinding, ...] = ()


async def examine(config: Config) -> list[Diagnosis]:
    """All at once, each with its own time limit, in the operator's order."""
    sources = zip(config.sources, open_sources(config), strict=True)
    asked = [_examine_source(spec, upstream) for spec, upstream in sources]
    async with _servers(config) as servers:
        readings = _readings(config, [server.name for server in servers])
        asked += [_examine_server(upstream, readings[upstream.name]) for upstream in servers]
        if config.replicas.is_on:
            asked.append(_examine_replicas(config))
        return list(await asyncio.gather(*asked))


@asynccontextmanager
async def _servers(config: Config) -> AsyncGenerator[list[Upstream]]:
    enabled = {name: spec for name, spec in config.mcp_servers.items() if not spec.disabled}
    if not enabled:
        yield []
        return
    outward = Outward(Warden(), HttpClient(), redact_all(config))
    servers = [open_mcp_server(name, spec, config.server, outward) for name, spec in enabled.items()]
    try:
        yield servers
    finally:
        await asyncio.gather(*(server.close() for server in servers))
        await outward.close()


async def _examine_source(spec: SourceSpec, upstream: Upstream) -> Diagnosis:
    blank = Diagnosis(spec.id, "sql", str(spec.dsn), reachable=False, mode=spec.mode)
    if not isinstance(upstream, SqlServer):
        await upstream.close()
        return replace(blank, findings=(DoctorFinding("problem", upstream.health().detail),))
    try:
        posture = await asyncio.wait_for(upstream.posture(), _PATIENCE_S)
    except SourceError as error:
        trouble = upstream.trouble() or f"{error.message} {error.operator_hint}".strip()
        return replace(blank, findings=(DoctorFinding("problem", trouble),))
    except CallgateError as error:
        return replace(blank, findings=(DoctorFinding("problem", error.message, error.hint),))
    except TimeoutError:
        return replace(blank, findings=(_too_slow(),))
    finally:
        await upstream.close()
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


def _readings(config: Config, servers: list[str]) -> dict[str, ListReading]:
    """How each server's tools are read, as the gateway would."""
    names = [*(source.id for source in config.sources), *servers]
    territory, short, choices = Territory(names), short_servers(names), tool_choices(config)
    most = config.server.max_offers
    return {
        name: ListReading(OfferKind.TOOL, name, territory, most, short=short[name], choice=choices.get(name))
        for name in servers
    }


async def _examine_server(upstream: Upstream, reading: ListReading) -> Diagnosis:
    blank = Diagnosis(upstream.name, "mcp", "", reachable=False, title=upstream.health().title or "")
    hop = Hop(upstream.name, "tools/list", b"", started_mono=time.monotonic())
    try:
        findings = await asyncio.wait_for(_list_tools(upstream, hop, reading), _PATIENCE_S)
    except CallgateError as error:
        return replace(blank, findings=(DoctorFinding("problem", error.message, error.hint),))
    except TimeoutError:
        health = upstream.health()
        if health.state is not State.STARTING:
            return replace(blank, findings=(_too_slow(),))
        text = f"It is not up after {_PATIENCE_S:g} s: {health.detail}."
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
    return [DoctorFinding("note", note) for note in listing_notes([part], "tools")]


async def _examine_replicas(config: Config) -> Diagnosis:
    # Nothing of it is imported by who has no replicas.
    from callgate.app.replicas import look_at_replicas
    from callgate.replicas.directory import DirectoryAwayError

    key, address = config.server.state_key, str(config.replicas.database)
    assert key is not None, "the configuration was checked"
    blank = Diagnosis("directory", "replicas", address, reachable=False)
    try:
        seen = await asyncio.wait_for(look_at_replicas(config, key.get_secret_value().encode()), _PATIENCE_S)
    except DirectoryAwayError as problem:
        advice = "Check [replicas] database. Replicas start and serve without it, but cannot find each other."
        return replace(blank, findings=(DoctorFinding("problem", f"{problem}.", advice),))
    except TimeoutError:
        return replace(blank, findings=(_too_slow(),))
    lives = "1 replica lives" if seen.living == 1 else f"{seen.living} replicas live"
    findings = [DoctorFinding("note", f"{lives}.")]
    findings += [DoctorFinding("warning", f"{problem}.") for problem in seen.problems]
    if not seen.is_as_configured:
        findings.append(
            DoctorFinding(
                "warning",
                "No replica that lives has this configuration.",
                "Give all replicas the same file, and start them again one after the other.",
            )
        )
    if seen.offset_s is not None and abs(seen.offset_s) > 1.0:
        text = f"The clock of this machine is {abs(seen.offset_s):.1f} s off the database's."
        findings.append(DoctorFinding("warning", text, "Set the clocks of all machines by NTP."))
    return replace(blank, reachable=True, findings=tuple(findings))


def _too_slow() -> DoctorFinding:
    return DoctorFinding(
        "problem", f"It did not answer within {_PATIENCE_S:g} s.", "See whether it is overloaded."
    )
