"""Trust in servers, wired: the lock beside the file, whole definitions in the state, and the operator's desk.

The lock is looked at each second: another process, or a person with an editor, may have changed it.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from callgate.app.mcp_servers import held_by
from callgate.app.serving.configuration import Served
from callgate.config.specs.config import Config
from callgate.model.errors import unknown_server
from callgate.model.trust import ServerTrust, TrustItem, TrustMode
from callgate.relay.relay import Relay
from callgate.trust.lock_file import LockFile
from callgate.trust.trust import Trust
from callgate.upstreams.hide_secrets import MASK, hider, repeats_in_disguise
from callgate.vault.state_db import Definition, StateDb

_log = logging.getLogger(__name__)

_LOOK_EVERY_S = 1.0


class KeptDefinitions:
    """Implements `ports.DefinitionStore` in `state.db`."""

    def __init__(self, state: Path, hide: Callable[[str], str]) -> None:
        """`hide`: takes out what the configuration holds in secret. A definition that repeats such a value is
        not kept: it is told only as it is, and the file is not sealed."""
        self._db = StateDb(state)
        self._hide = hide

    def put(self, server: str, items: Sequence[TrustItem]) -> None:
        self._db.put_definitions(
            [
                Definition(server, one.kind, one.name, one.digest, one.now)
                for one in items
                if one.now is not None and self._is_clean(one.now)
            ]
        )

    def _is_clean(self, definition: bytes) -> bool:
        text = definition.decode(errors="replace")
        return self._hide(text) == text

    def get(self, server: str, kind: str, name: str, digest: str) -> bytes | None:
        found = self._db.definition(server, kind, name, digest)
        return found.definition if found is not None else None


def trust_modes(config: Config) -> dict[str, TrustMode]:
    return {name: spec.trust for name, spec in config.mcp_servers.items() if not spec.disabled}


def open_trust(served: Served, state: Path, lock_path: Path, *, writes: bool) -> Trust:
    def hide(server: str, text: str) -> str:
        spec = served.config.mcp_servers.get(server)
        held = [] if spec is None else list(held_by(spec, with_variables=True))
        told = hider(held, served.redact)(text)
        return MASK if repeats_in_disguise(told, held) else told

    modes = trust_modes(served.config)
    return Trust(
        modes, LockFile(lock_path), KeptDefinitions(state, served.hide_secrets), writes=writes, hide=hide
    )


class OperatorsDesk:
    """Implements `ports.TrustDesk`."""

    def __init__(self, trust: Trust, relay: Relay) -> None:
        self._trust = trust
        self._relay = relay
        self._watching: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._watching = asyncio.create_task(self._watch())

    async def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()
            await asyncio.gather(self._watching, return_exceptions=True)

    async def use(self, config: Config) -> None:
        """The operator's words, taken over while we run."""
        self._trust.use(trust_modes(config))
        await self._relay.judge_again()

    async def move_lock(self, path: Path) -> None:
        await asyncio.to_thread(self._trust.move_lock, LockFile(path))

    def let_go(self) -> None:
        """Of servers that are served no longer."""
        self._trust.let_go()

    @property
    def news(self) -> Sequence[ServerTrust]:
        return [_in_short(self._trust.of(name)) for name in self._trust.servers()]

    @property
    def problem(self) -> str | None:
        return self._trust.problem

    async def look(self, server: str | None = None) -> Sequence[ServerTrust]:
        names = self._trust.servers()
        if server is not None:
            if server not in names:
                raise unknown_server(server, names)
            names = [server]
        await asyncio.gather(*(self._relay.look_at(name) for name in names))
        return [self._trust.of(name) for name in names]

    async def accept(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        return await self._do(self._trust.answers.accept, server, items)

    async def block(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        return await self._do(self._trust.answers.block, server, items)

    async def unblock(self, server: str, items: Sequence[TrustItem]) -> ServerTrust:
        return await self._do(self._trust.answers.unblock, server, items)

    async def _do(
        self,
        act: Callable[[str, Sequence[TrustItem]], None],
        server: str,
        items: Sequence[TrustItem],
    ) -> ServerTrust:
        if server not in self._trust.servers():
            raise unknown_server(server, self._trust.servers())
        await asyncio.to_thread(act, server, items)
        await self._relay.answered(server)
        return self._trust.of(server)

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(_LOOK_EVERY_S)
            try:
                if await asyncio.to_thread(self._trust.look):
                    await self._relay.judge_again()
            except Exception:  # noqa: BLE001 - a bug here must not end the looking
                _log.exception("the lock could not be looked at")


def _in_short(told: ServerTrust) -> ServerTrust:
    return replace(told, items=tuple(replace(item, accepted=None, now=None) for item in told.items))
