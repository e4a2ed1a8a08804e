"""Tries a source or server beside the gateway, without adding it: opens it, asks what it is, and closes it.

Rules
1. It has 15 seconds. Whatever happens, no process and no connection of it is left.
2. What starts a program or reads a file is done only for somebody at this machine.
3. Nothing that is told holds a secret of the entry.
"""

import asyncio
import json
import shlex
import time
from collections.abc import AsyncGenerator, Callable, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import callgate
from callgate.app.mcp_servers import Outward, guarded_of, open_mcp_server
from callgate.app.redaction.redactors import redact_all
from callgate.app.server_care import (
    PATIENCE_S,
    Diagnosis,
    examine_source,
    failed,
    noted,
    readings_of,
    too_slow,
)
from callgate.app.setup.setup_problems import load_and_check
from callgate.app.sources import open_one_source, source_plan
from callgate.config.load import Loaded
from callgate.config.local_reach import newly_started, reaching
from callgate.config.problem import ConfigProblems, key_path
from callgate.config.raw_values import table_of
from callgate.config.sources.adopt_file import AdoptedFile
from callgate.config.sources.file import FILE_NAME, ConfigFile
from callgate.config.sources.flags import Flags
from callgate.config.sources.pasted import Pasted, read_pasted
from callgate.config.specs.config import Config
from callgate.config.specs.field_types import is_entry_name
from callgate.http_client.client import HttpClient
from callgate.model.envelope import Envelope, Era
from callgate.model.error_codes import (
    CALLER_BAD_CONFIG,
    CALLER_BAD_PARAMS,
    REFUSED_NOT_LOCAL,
    UPSTREAM_UNAUTHORIZED,
)
from callgate.model.errors import CallerError, CallgateError, RefusedError
from callgate.model.exchange import Hop
from callgate.model.identity import LOCAL
from callgate.model.offers import Offer, OfferKind
from callgate.model.session import Session
from callgate.model.trust import Flaw
from callgate.ports.server_care import DoctorFinding, Probed
from callgate.ports.upstream import Asker, Upstream
from callgate.relay.lists.ask_listing import ListAsk, Listing, ask_listing
from callgate.trust.judge import LookedAt
from callgate.upstreams.child.warden import Warden
from callgate.wire.revisions import MODERN_REVISIONS

# Each may be a program. A page tries one.
_MAX_AT_ONCE = 4
_LOGIN_STATUS = 401


class UpstreamProber:
    """Implements `ports.Prober`."""

    def __init__(self, folder: Path, taken: Callable[[], Collection[str]]) -> None:
        """`folder`: of the file that it would be added to. `taken`: the names of what is there."""
        self._folder = folder
        self._taken = taken
        self._turns = asyncio.Semaphore(_MAX_AT_ONCE)

    async def probe(self, text: str, name: str | None, *, is_local: bool) -> Probed:
        pasted = await asyncio.to_thread(read_pasted, text, self._taken())
        if name is not None:
            pasted = renamed(pasted, name, self._taken())
        async with self._turns:
            return await probe(pasted, self._folder, is_local=is_local)


def renamed(pasted: Pasted, name: str, taken: Collection[str]) -> Pasted:
    """Raises CallerError."""
    if not is_entry_name(name):
        hint = "Use letters, digits, dashes and single underscores"
        raise CallerError(CALLER_BAD_PARAMS, f"{name[:100]!r} cannot be the name of a server", hint=hint)
    if name in taken:
        raise CallerError(
            CALLER_BAD_PARAMS, f"There is a server {name!r} already", hint="Choose another name"
        )
    return pasted.renamed(name)


async def probe(pasted: Pasted, folder: Path, *, is_local: bool) -> Probed:
    """Raises RefusedError, and CallerError for an entry with problems."""
    if started := newly_started({}, pasted.tables()):
        raise starts_program([key_path(loc[2:]) for loc in started])
    places = reaching(pasted.tables())
    if places and not is_local:
        raise not_local([key_path(loc[2:]) for loc in places])
    config = (await asyncio.to_thread(_loaded, pasted, folder)).config
    blank = Probed(
        pasted.name,
        "sql" if pasted.kind == "source" else "mcp",
        _address(pasted, config),
        key_path(pasted.written_at()),
        secrets=[key_path(secret.loc) for secret in pasted.secrets],
        is_local=bool(places),
    )
    notes = [DoctorFinding("note", f"{note[:1].upper()}{note[1:]}.") for note in pasted.notes]
    async with _opened(config, pasted, folder / FILE_NAME) as upstream:
        try:
            probed = await asyncio.wait_for(_ask(upstream, config, pasted, blank), PATIENCE_S)
        except TimeoutError:
            probed = replace(blank, findings=(_late(upstream),))
    return replace(probed, findings=[*probed.findings, *notes])


def not_local(places: Collection[str]) -> RefusedError:
    named = ", ".join(sorted(set(places)))[:500]
    return RefusedError(
        REFUSED_NOT_LOCAL,
        f"What starts a program or reads a file is taken from this machine only: {named}",
        hint="Do it on the machine of the gateway: callgate add, or the file itself",
    )


def starts_program(places: Collection[str]) -> CallerError:
    hint = "Write it into the file with an editor, or keep the value with: callgate secret set"
    listed = sorted(set(places))[:100]
    problems = [{"key_path": place, "message": "exec: is new here", "hint": hint} for place in listed]
    named = ", ".join(listed)[:500]
    return CallerError(
        CALLER_BAD_CONFIG,
        f"exec: is taken only from what a person has written into the file: {named}",
        hint=hint,
        data={"problems": problems},
    )


def _loaded(pasted: Pasted, folder: Path) -> Loaded:
    file = ConfigFile(folder / FILE_NAME, AdoptedFile(pasted.tables()))
    try:
        return load_and_check(Flags(), file)
    except ConfigProblems as found:
        raise bad_config(found, "This entry has problems") from None


def bad_config(found: ConfigProblems, title: str) -> CallerError:
    """With all problems, each with its key path."""
    listed = found.problems[:100]
    problems = [{"key_path": one.key_path, "message": one.message, "hint": one.hint} for one in listed]
    return CallerError(
        CALLER_BAD_CONFIG, f"{title}: {'; '.join(str(one) for one in listed)}", data={"problems": problems}
    )


def _address(pasted: Pasted, config: Config) -> str:
    """As `callgate config show` tells it."""
    if pasted.kind == "source":
        return next(str(one.shown()["dsn"]) for one in config.sources if one.id == pasted.name)
    shown = config.mcp_servers[pasted.name].shown()
    return shown.get("url") or shlex.join([shown["command"], *shown["args"]])


@asynccontextmanager
async def _opened(config: Config, pasted: Pasted, file: Path) -> AsyncGenerator[Upstream]:
    if pasted.kind == "source":
        spec = next(one for one in config.sources if one.id == pasted.name)
        upstream = open_one_source(source_plan(spec, config.with_values(tools=())))
        try:
            yield upstream
        finally:
            await upstream.close()
        return
    # A confined program is kept from the file that the entry would be added to.
    outward = Outward(Warden(), HttpClient(), redact_all(config), guarded=guarded_of(config, file))
    try:
        # It is tried even if the entry says that it is left out.
        upstream = open_mcp_server(pasted.name, config.mcp_servers[pasted.name], outward)
        try:
            yield upstream
        finally:
            await upstream.close()
    finally:
        await outward.close()


async def _ask(upstream: Upstream, config: Config, pasted: Pasted, blank: Probed) -> Probed:
    seen = blank
    if pasted.kind == "source":
        spec = next(one for one in config.sources if one.id == pasted.name)
        seen = _with_posture(blank, await examine_source(spec, upstream))
        if not seen.reachable:
            return seen
    readings = readings_of(config.with_values(sources=()), [pasted.name])
    hop = Hop(upstream.name, OfferKind.TOOL.method, b"", started_mono=time.monotonic())
    try:
        listing = await ask_listing(ListAsk(upstream, _asker(), hop, readings[pasted.name], ()))
    except CallgateError as error:
        return _failed(seen, error)
    health = upstream.health()
    declared = [_declared(offer) for offer in listing.part.offers.values()]
    # The tools of a database are ours.
    is_scanned = pasted.kind == "server"
    return replace(
        seen,
        reachable=True,
        destructive=sum(map(_is_destructive, filter(None, declared))),
        undeclared=sum(not one for one in declared),
        scan=await asyncio.to_thread(_scanned, listing) if is_scanned else {},
        era=health.era,
        protocol=health.protocol,
        version=seen.version or health.version,
        tools=tuple(listing.part.offers.values()),
        findings=[*seen.findings, *_notes(listing)],
    )


def _declared(offer: Offer) -> dict[str, Any]:
    return table_of(json.loads(offer.annotations)) if offer.annotations else {}


def _is_destructive(declared: dict[str, Any]) -> bool:
    """By the specification's defaults."""
    return not declared.get("readOnlyHint") and bool(declared.get("destructiveHint", True))


def _scanned(listing: Listing) -> dict[str, Sequence[Flaw]]:
    """What the scan finds, as it would once the server is there."""
    offers, looked = listing.part.offers.values(), LookedAt()
    names = frozenset(offer.route.native_name for offer in offers)
    found = {offer.route.native_name: looked.look(offer.definition, names).flaws for offer in offers}
    return {name: flaws for name, flaws in found.items() if flaws}


def _asker() -> Asker:
    now_s = time.time()
    envelope = Envelope(Era.MODERN, MODERN_REVISIONS[-1], "callgate-probe", callgate.__version__)
    return Asker(envelope, Session("probe", LOCAL, "stdio", envelope, now_s, now_s), b"1")


def _with_posture(blank: Probed, found: Diagnosis) -> Probed:
    return replace(
        blank,
        reachable=found.reachable,
        version=found.version or None,
        account=found.account or None,
        role=found.role or None,
        mode=found.mode,
        settings=dict(found.settings),
        findings=list(found.findings),
    )


def _failed(seen: Probed, error: CallgateError) -> Probed:
    if error.code is UPSTREAM_UNAUTHORIZED and error.data.get("status") == _LOGIN_STATUS:
        text = "It wants a login or a token."
        advice = "Write a token under headers, as Authorization."
        return replace(seen, needs_login=True, findings=[DoctorFinding("warning", text, advice)])
    return replace(seen, findings=[*seen.findings, failed(error)])


def _notes(listing: Listing) -> list[DoctorFinding]:
    notes = noted(listing.part)
    if listing.has_more or listing.part.left_out:
        told = f"It lists more tools than are taken: {len(listing.part.offers):,} are offered."
        notes.append(DoctorFinding("warning", told, "No model can choose among so many."))
    return notes


def _late(upstream: Upstream) -> DoctorFinding:
    """A program that is downloaded by its first start may need longer than we wait."""
    detail = upstream.health().detail
    if not detail:
        return too_slow()
    text = f"It is not up after {PATIENCE_S:g} s: {detail}."
    return DoctorFinding("problem", text, "If it was being downloaded, try once more.")
