"""The sources and servers that are served: opened at the start, and exchanged when the configuration changes.

Rules
1. What is to be served under a name is a plan. An upstream whose plan is the same stays, untouched.
2. A changed one is opened beside the old. It takes over when it has told its tools, or has failed to: then
   the file's word counts. Until then calls go to the old one.
3. One that left ends its calls, for at most 30 s, and is closed with all that it has.
4. Added, changed and removed ones change places together, so that clients hear of it once. One that takes
   longer than a few seconds to start takes its place later, by itself.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from callgate.app.mcp_servers import Outward, adapt_mcp_server, offer_rules, open_mcp_server, plan_key
from callgate.app.sources import LearnPassword, open_demo, open_one_source, share_connections, source_plan
from callgate.config.specs.config import Config
from callgate.model.health import State
from callgate.ports.record_queries import RecordExcerpts
from callgate.ports.source_schema import SourceSchema
from callgate.ports.upstream import Upstream
from callgate.relay.relay import Relay
from callgate.sql.record.source import NAME as RECORD
from callgate.sql.record.source import RecordSource
from callgate.sql.server.server import SqlServer
from callgate.task_set import TaskSet

_log = logging.getLogger(__name__)

# A program in Python or Node is up within this; clients hear of all changes together.
_TOGETHER_S = 5.0
# The longest that a program may take to start, where its entry says nothing else.
_START_S = 120.0
# A call is told to the upstream in the same turn of the loop, or the next.
_GRACE_S = 0.1
_LOOK_S = 0.05
_CALLS_END_S = 30.0
# Each begins to connect in the same turn of the loop: a few milliseconds.
_OPENED_AT_ONCE = 20


@dataclass(frozen=True, slots=True)
class WantedUpstream:
    name: str
    plan: object  # equal: the same upstream will do
    open: Callable[[], Awaitable[Upstream]]
    start_s: float = _START_S
    adapt: Callable[[Upstream], None] = lambda upstream: None  # what can change while it stays


@dataclass(slots=True)
class _Opened:
    plan: object
    upstream: Upstream
    later: asyncio.Task[None] | None = None  # takes its place when it is there


class ServedUpstreams:
    def __init__(
        self,
        outward: Outward,
        state: Path,
        excerpts: RecordExcerpts | None = None,
        learn_password: LearnPassword | None = None,
    ) -> None:
        """`state`: the folder in which the demo lies. `excerpts`: of the record, where there is one.
        `learn_password`: told of those that programs print."""
        self._learn_password = learn_password
        self._outward = outward
        self._state = state
        self._excerpts = excerpts
        self._serving: dict[str, _Opened] = {}
        self._beside: dict[str, _Opened] = {}  # changed ones that still start
        self._leaving = TaskSet()
        self._is_over = asyncio.Event()
        self._replicas = 1
        self.calls_end_s = _CALLS_END_S

    async def open(self, config: Config) -> list[Upstream]:
        for wanted in self._wanted(config):
            self._serving[wanted.name] = _Opened(wanted.plan, await wanted.open())
        return self.all

    async def change(self, config: Config, relay: Relay) -> None:
        """Serves what this configuration says. Only one change at a time."""
        rules, wanted = offer_rules(config), list(self._wanted(config))
        names = {one.name for one in wanted}
        for name in [name for name in self._beside if name not in names]:
            self._give_up(name)
        new: dict[str, _Opened] = {}
        for one in wanted:
            if (beside := self._beside.get(one.name)) is not None and beside.plan != one.plan:
                self._give_up(one.name)
            serving = self._beside.get(one.name) or self._serving.get(one.name)
            if serving is None or serving.plan != one.plan:
                new[one.name] = _Opened(one.plan, await one.open())
                if len(new) % _OPENED_AT_ONCE == 0:
                    await asyncio.sleep(0)  # calls go on meanwhile
            else:
                one.adapt(serving.upstream)
        after = [new.get(name) or self._serving[name] for name in (one.name for one in wanted)]
        opened = [one.upstream for one in new.values()]
        prepared = await relay.prepare(opened, [one.upstream for one in after], rules, _TOGETHER_S)
        before, self._serving = self._serving, {}
        for one in wanted:
            made, old = new.get(one.name), before.get(one.name)
            if made is not None and old is not None and self._still_starts(made, one.name in prepared):
                made.later = asyncio.create_task(self._take_place_later(one, made, relay))
                self._beside[one.name] = made
                made = old
            self._serving[one.name] = made or before[one.name]
        relay.replace(self.all, rules, prepared)
        share_connections(config, self.sql_servers, self._replicas)
        self._end_those_that_left(before)

    def share(self, config: Config, replicas: int) -> None:
        """Replicas came or went: so many live."""
        self._replicas = replicas
        share_connections(config, self.sql_servers, replicas)

    @property
    def all(self) -> list[Upstream]:
        return [one.upstream for one in self._serving.values()]

    def get(self, name: str) -> Upstream | None:
        one = self._serving.get(name)
        return one.upstream if one is not None else None

    @property
    def sql_servers(self) -> list[SqlServer]:
        return [upstream for upstream in self.all if isinstance(upstream, SqlServer)]

    def schema_of(self, name: str) -> SourceSchema | None:
        upstream = self.get(name)
        return upstream.schema if isinstance(upstream, SqlServer) else None

    async def close(self) -> None:
        """Those that are served are the relay's to close."""
        for name in list(self._beside):
            self._give_up(name)
        self._is_over.set()
        await self._leaving.wait()

    # ---- what is wanted

    def _wanted(self, config: Config) -> Iterator[WantedUpstream]:
        """In the operator's order."""
        for source in config.sources:
            plan = source_plan(source, config)
            opened = partial(open_one_source, plan, self._learn_password)
            yield WantedUpstream(source.id, plan, partial(_at_once, opened))
        for name, spec in config.mcp_servers.items():
            if not spec.disabled:
                yield WantedUpstream(
                    name,
                    plan_key(spec),
                    partial(_at_once, partial(open_mcp_server, name, spec, self._outward)),
                    spec.start_limit_s,
                    partial(adapt_mcp_server, spec),
                )
        if config.is_empty:
            yield WantedUpstream("demo", "the demo", partial(open_demo, self._state))
        if config.record.offer and (excerpts := self._excerpts) is not None:
            yield WantedUpstream(RECORD, "the record", partial(_at_once, partial(RecordSource, excerpts)))

    # ---- changed ones that still start

    def _still_starts(self, made: _Opened, has_told: bool) -> bool:
        return not has_told and made.upstream.health().state is State.STARTING

    async def _take_place_later(self, wanted: WantedUpstream, made: _Opened, relay: Relay) -> None:
        name, rules = wanted.name, relay.rules
        among = [made.upstream if one.name == name else one for one in self.all]
        prepared = await relay.prepare([made.upstream], among, rules, wanted.start_s)
        before = dict(self._serving)
        del self._beside[name]
        self._serving[name] = made
        relay.replace(self.all, relay.rules, prepared if rules is relay.rules else {})
        self._end_those_that_left(before)
        _log.info("%s: its changed entry is served now", name)

    def _give_up(self, name: str) -> None:
        beside = self._beside.pop(name)
        if beside.later is not None:
            beside.later.cancel()
        self._end(beside.upstream)

    # ---- those that left

    def _end_those_that_left(self, before: dict[str, _Opened]) -> None:
        stay = {id(one.upstream) for one in (*self._serving.values(), *self._beside.values())}
        for one in before.values():
            if id(one.upstream) not in stay:
                self._end(one.upstream)

    def _end(self, upstream: Upstream) -> None:
        self._leaving.start(self._finish(upstream))

    async def _finish(self, upstream: Upstream) -> None:
        loop = asyncio.get_running_loop()
        upstream.leave()
        end_at = loop.time() + self.calls_end_s
        await self._pause(_GRACE_S)
        while upstream.is_busy() and loop.time() < end_at and not self._is_over.is_set():
            await self._pause(_LOOK_S)
        try:
            await upstream.close()
        except Exception:  # noqa: BLE001 - nobody waits for it
            _log.exception("%s could not be closed", upstream.name)

    async def _pause(self, pause_s: float) -> None:
        """Until we stop, at most."""
        try:
            await asyncio.wait_for(self._is_over.wait(), pause_s)
        except TimeoutError:
            return


async def _at_once(open_it: Callable[[], Upstream]) -> Upstream:
    return open_it()
