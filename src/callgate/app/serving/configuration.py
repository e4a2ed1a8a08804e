"""The configuration that is served now: one object to ask, for every part that needs to know it.

Nobody keeps a copy of what can change while we run (docs/reload.md). The parts that act on a change are told
by `app.take_over`; the others ask here, each time.
"""

import time
from collections.abc import Sequence

from callgate.api.about_api import ShownSettings
from callgate.app.principals import needs_token
from callgate.app.redactors import all_redactors
from callgate.app.sources import source_facts
from callgate.config.paths import installed_program
from callgate.config.specs.config import Config
from callgate.ports.record_store import SqlDialect
from callgate.ports.status import SourceFacts


class Served:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.dialect: SqlDialect = "duckdb"  # of SQL over the record
        self._started_s = time.time()
        self._program = str(installed_program() or "callgate")
        self._redactors = all_redactors(config)

    def use(self, config: Config) -> None:
        self.config = config
        self._redactors = all_redactors(config)

    def redact(self, text: str) -> str:
        """For what may be of any server: whatever one of them knows as a secret is taken out."""
        for one in self._redactors:
            text = one.text(text)
        return text

    def redact_document(self, raw: bytes) -> bytes:
        """The same for JSON."""
        for one in self._redactors:
            raw = one.body(raw) or raw
        return raw

    def sources(self) -> Sequence[SourceFacts]:
        return source_facts(self.config)

    def shown(self) -> ShownSettings:
        config = self.config
        return ShownSettings(
            needs_token=needs_token(config),
            is_demo=config.is_empty,
            keep_s=config.record.keep_s,
            max_size_bytes=config.record.max_size_bytes,
            tool_search=config.server.tool_search,
            dialect=self.dialect,
            program=self._program,
            started_s=self._started_s,
        )
