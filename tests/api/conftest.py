"""A record with something in it, and the API over it."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from api.parts import Answered, KeptCaller, OneServer, ask, offer
from recorder.happenings import REDACTOR, Record, a_session, opened
from stores.kinds import KeptRecord

from callgate.api.http_api import ApiParts, HttpApi
from callgate.api.metrics import CallMeter
from callgate.model.session import Session


@dataclass
class Stage:
    record: Record | KeptRecord
    server: OneServer = field(default_factory=lambda: OneServer([offer("query")]))
    caller: KeptCaller = field(default_factory=KeptCaller)
    session: Session = field(default_factory=a_session)

    def __post_init__(self) -> None:
        self.meter = CallMeter(self.record.recorder)
        self.emit = self.meter.emit
        self.api = HttpApi(
            ApiParts(
                self.server, self.caller, self.record.reader, self.record.queries,
                feed=self.record.feed, meter=self.meter,
                redact=lambda text: text.replace("hunter2", "***"),
                redact_document=lambda raw: REDACTOR.body(raw) or raw,
            )
        )  # fmt: skip
        self.app = self.api.app()
        self.emit(opened(self.session))

    async def ask(self, target: str, body: Any = None, method: str | None = None, **headers: str) -> Answered:
        return await ask(self.app, target, body, method, **headers)

    async def get(self, target: str) -> Any:
        answered = await self.ask(target)
        assert answered.status == 200, answered.body
        return answered.json


@pytest.fixture
async def stage(tmp_path: Path) -> AsyncIterator[Stage]:
    record = Record(tmp_path)
    yield Stage(record)
    await record.close()
