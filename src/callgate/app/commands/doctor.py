"""`callgate doctor`: ask every source and every server how it is, once, and say what to do about it.

Opens nothing but them, the directory of replicas and the record's database: no listener, no file of a record.
Counterpart: `cli.commands.doctor_command` shows it.
"""

import asyncio
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from callgate.app.mcp_servers import Outward, guarded_of, open_mcp_server
from callgate.app.record import clickhouse_address, store_address
from callgate.app.redaction.redactors import redact_all
from callgate.app.server_care import (
    PATIENCE_S,
    Diagnosis,
    examine_server,
    examine_source,
    readings_of,
    too_slow,
)
from callgate.app.sources import open_one_source, source_plan
from callgate.config.specs.config import Config, SourceSpec
from callgate.http_client.client import HttpClient
from callgate.model.errors import SetupError
from callgate.ports.server_care import DoctorFinding
from callgate.ports.upstream import Upstream
from callgate.upstreams.child.warden import Warden


async def examine(config: Config, file: Path | None) -> list[Diagnosis]:
    """All at once, each with its own time limit, in the operator's order."""
    sources = [(spec, open_one_source(source_plan(spec, config))) for spec in config.sources]
    asked = [_examine_source(spec, upstream) for spec, upstream in sources]
    async with _servers(config, file) as servers:
        readings = readings_of(config, [server.name for server in servers])
        asked += [examine_server(upstream, readings[upstream.name]) for upstream in servers]
        if config.replicas.is_on:
            asked.append(_examine_replicas(config))
        if config.record.enabled and config.store.is_database:
            asked.append(_examine_store(config))
        return list(await asyncio.gather(*asked))


@asynccontextmanager
async def _servers(config: Config, file: Path | None) -> AsyncGenerator[Sequence[Upstream]]:
    enabled = {name: spec for name, spec in config.mcp_servers.items() if not spec.disabled}
    if not enabled:
        yield []
        return
    outward = Outward(Warden(), HttpClient(), redact_all(config), guarded=guarded_of(config, file))
    servers = [open_mcp_server(name, spec, outward) for name, spec in enabled.items()]
    try:
        yield servers
    finally:
        await asyncio.gather(*(server.close() for server in servers))
        await outward.close()


async def _examine_source(spec: SourceSpec, upstream: Upstream) -> Diagnosis:
    try:
        return await examine_source(spec, upstream)
    finally:
        await upstream.close()


async def _examine_replicas(config: Config) -> Diagnosis:
    # Nothing of it is imported by who has no replicas.
    from callgate.app.replicas import look_at_replicas
    from callgate.replicas.directory import DirectoryAwayError

    key, address = config.server.state_key, str(config.replicas.database)
    assert key is not None, "the configuration was checked"
    blank = Diagnosis("directory", "replicas", address, reachable=False)
    try:
        seen = await asyncio.wait_for(look_at_replicas(config, key.get_secret_value().encode()), PATIENCE_S)
    except DirectoryAwayError as problem:
        advice = "Check [replicas] database. Replicas start and serve without it, but cannot find each other."
        return replace(blank, findings=(DoctorFinding("problem", f"{problem}.", advice),))
    except TimeoutError:
        return replace(blank, findings=(too_slow(),))
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


_NO_READER = "SQL over the record runs as the record's own user, held back by our judgement and readonly = 1."
_NO_READER_HINT = "Name a second user with ?reader=…&reader_password=… in [record] store (docs/replicas.md)."


async def _examine_store(config: Config) -> Diagnosis:
    blank = Diagnosis("store", "record", str(config.store), reachable=False)
    try:
        version, findings = await asyncio.wait_for(_look_at_store(config), PATIENCE_S)
    except SetupError as error:
        return replace(blank, findings=(DoctorFinding("problem", f"{error.message}.", error.hint),))
    except TimeoutError:
        return replace(blank, findings=(too_slow(),))
    return replace(blank, reachable=True, version=version, findings=findings)


async def _look_at_store(config: Config) -> tuple[str, tuple[DoctorFinding, ...]]:
    """Raises SetupError."""
    if not config.store.is_postgres:
        from callgate.recorder.stores.clickhouse.record_store import server_version

        address = clickhouse_address(config)
        found = () if address.reader is not None else (DoctorFinding("warning", _NO_READER, _NO_READER_HINT),)
        return f"ClickHouse {await asyncio.to_thread(server_version, address)}", found
    from callgate.recorder.stores.postgres.upkeep import look

    seen = await look(store_address(config), config.record.migrate)
    trouble = seen.reader_trouble
    findings = () if trouble is None else (DoctorFinding("warning", f"{trouble.message}.", trouble.hint),)
    return f"PostgreSQL {seen.version}", findings
