"""The configuration that is served now: one object to ask, for every part that needs to know it.

Nobody keeps a copy of what can change while we run (docs/reload.md). The parts that act on a change are told
by `app.take_over`; the others ask here, each time.
"""

import asyncio
import time
from collections.abc import Iterable, Sequence

from callgate.api.about_api import ShownSettings
from callgate.app.principals import needs_token
from callgate.app.redaction.redactors import password_secrets, redactors_of, secrets_of
from callgate.app.sources import source_facts
from callgate.config.paths import installed_program
from callgate.config.specs.config import Config
from callgate.ports.record_store import SqlDialect
from callgate.ports.status import SourceFacts

# Calls to a server that was changed may still end, and it may still repeat what it was given. A file whose
# secrets change each hour must not fill the memory.
_MAX_PAST_SECRETS = 1_000


class Served:
    def __init__(self, config: Config) -> None:
        self.config = config
        self.dialect: SqlDialect = "duckdb"  # of SQL over the record
        self._started_s = time.time()
        self._program = str(installed_program() or "callgate")
        self._secrets = secrets_of(config)
        self._past_secrets: dict[str, None] = {}  # the latest last
        self._one_at_a_time = asyncio.Lock()
        self.redactors = redactors_of(config, self._secrets)

    async def use(self, config: Config) -> None:
        """What is known to be secret first: a thousand values take a while."""
        async with self._one_at_a_time:
            secrets = await asyncio.to_thread(secrets_of, config)
            await self._know(config, secrets, self._secrets - secrets)
            self.config = config

    async def learn_password(self, password: str) -> None:
        """One that a program printed. It stays known, as those of before do."""
        async with self._one_at_a_time:
            learned = password_secrets(self.config, password) - self._secrets - self._past_secrets.keys()
            if learned:
                await self._know(self.config, self._secrets, learned)

    async def _know(self, config: Config, secrets: frozenset[str], past: Iterable[str]) -> None:
        known = {**self._past_secrets, **dict.fromkeys(past)}
        kept = [one for one in known if one not in secrets][-_MAX_PAST_SECRETS:]
        self._secrets, self._past_secrets = secrets, dict.fromkeys(kept)
        self.redactors = await asyncio.to_thread(redactors_of, config, (*secrets, *kept))

    def redact(self, text: str) -> str:
        """For what may be of any server: whatever one of them knows as a secret is taken out."""
        return self.redactors.text(text)

    def redact_document(self, raw: bytes) -> bytes:
        """The same for JSON."""
        return self.redactors.document(raw)

    def hide_secrets(self, text: str) -> str:
        """Only what the configuration holds in secret, and held before."""
        return self.redactors.known.without_text(text)

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
