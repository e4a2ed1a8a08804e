"""The configuration that is served: what became of changes to its file, and reading it again.

What an operator does is told to the record too, as a row of its own (`told_to_record`).
"""

import time
from collections.abc import Callable
from dataclasses import replace

import msgspec

from callgate.api.operation import Asked, NoBody, Operation
from callgate.model.error_codes import SETUP_NOT_RUNNING
from callgate.model.errors import CallgateError, SetupError
from callgate.model.events import Aside
from callgate.model.exchange import EndedBy, Outcome, Settlement
from callgate.model.identity import Role, new_exchange_id
from callgate.ports.settings import Settings, SettingsNews


class SettingsApi:
    def __init__(self) -> None:
        self.settings: Settings | None = None  # None: nothing is served here

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/settings",
                "getSettings",
                "What became of changes to the configuration since the start",
                self.get,
                SettingsNews,
                role=Role.WATCH,
            ),
            Operation(
                "/api/v1/reload",
                "reload",
                "Read the configuration again and take over what can be; with a problem the old one stays",
                self.reload,
                SettingsNews,
                takes=NoBody,
                role=Role.OPERATE,
                errors=(SETUP_NOT_RUNNING,),
            ),
        ]

    async def get(self, asked: Asked[None, None]) -> SettingsNews:
        return SettingsNews() if self.settings is None else self.settings.news

    async def reload(self, asked: Asked[None, NoBody]) -> SettingsNews:
        if self.settings is None:
            raise SetupError(SETUP_NOT_RUNNING, "No gateway is running here", hint="Start one with: callgate")
        return await self.settings.reload()


def told_to_record(operation: Operation, tell: Callable[[Aside], None]) -> Operation:
    """The operation, with a row of the record for each time that somebody does it."""

    async def handler(asked: Asked[object, object]) -> object:
        settlement = Settlement(Outcome.FAILED, EndedBy.GATEWAY)
        try:
            answer = await operation.handler(asked)
            settlement = Settlement(Outcome.ANSWERED, EndedBy.GATEWAY)
        except CallgateError as error:
            settlement = Settlement(
                Outcome.REFUSED, EndedBy.GATEWAY, error_code=error.code.code, error=error.message
            )
            raise
        finally:
            tell(_row(operation, asked, settlement))
        return answer

    return replace(operation, handler=handler)


def _row(operation: Operation, asked: Asked[object, object], settlement: Settlement) -> Aside:
    """Who, what and with which names; no value that was sent."""
    now_s = time.time()
    return Aside(
        event_id=new_exchange_id(now_s),
        at_s=now_s,
        method=f"operator/{operation.name}",
        settlement=settlement,
        params=msgspec.json.encode(
            {**asked.path, **(operation.tells(asked) if operation.tells is not None else {})}
        ),
        sender="operator",
        client=asked.headers.get("x-callgate-client-id", "")[:100],
        principal=asked.principal.name,
    )
