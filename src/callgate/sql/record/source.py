"""RecordSource: the record as an upstream named `record`. Implements `ports.upstream.Upstream`.

Whose rows a call sees is decided by the session it comes from, never by anything the caller writes.
"""

from collections.abc import Coroutine
from dataclasses import replace
from typing import Any

from callgate.model.exchange import Hop
from callgate.model.health import Health
from callgate.model.identity import LOCAL, Principal
from callgate.model.reply import Reply, Tell
from callgate.ports.record_queries import RecordExcerpts
from callgate.ports.upstream import Asker
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.engines.duckdb.schema import DUCKDB_QUERIES
from callgate.sql.guard.policy import policy_of
from callgate.sql.record.driver import ExcerptDriver
from callgate.sql.record.turns import Turns
from callgate.sql.server.server import SqlServer
from callgate.sql.server.stateless import StatelessUpstream
from callgate.sql.settings import SourceSettings

NAME = "record"
# Each is a process and a copy: two keep an agent from waiting for another, more would crowd out the gateway.
_MAX_AT_ONCE = 2
_ABOUT = (
    "It holds what you yourself did through this gateway, and no other caller's: `rpc_events` (one row for "
    "each request: ts, method, server_name, tool_name, outcome, error, duration_ms, sql, rows, request_json, "
    "response_json, …), `rpc_event_upstreams` (its legs to servers, by event_id), `sessions` and `gaps`. "
    "Secrets in it are replaced by ***."
)
_SETTINGS = SourceSettings(
    source_id=NAME, engine=DUCKDB.name, timeout_s=10.0, has_siblings=True, about=_ABOUT, is_fixed=True
)
# An agent sees its own calls: the settings tell of the gateway's folders.
_VOCABULARY = DUCKDB.vocabulary
_DIALECT = replace(
    DUCKDB,
    vocabulary=replace(_VOCABULARY, table_functions=_VOCABULARY.table_functions - {"duckdb_settings"}),
)


class RecordSource(StatelessUpstream):
    name = NAME
    # Not the plain one: there may be DuckDB files beside it, or a server for such.
    schemes = frozenset({f"{DUCKDB.name}+{NAME}"})

    def __init__(self, excerpts: RecordExcerpts) -> None:
        self._excerpts = excerpts
        self._policy = policy_of(_SETTINGS, _DIALECT)
        self._turns = Turns(_MAX_AT_ONCE)
        self._servers: dict[Principal, SqlServer] = {}  # as many as the operator has tokens

    def ask(self, hop: Hop, asker: Asker, tell: Tell) -> Coroutine[Any, Any, Reply]:
        return self._server_of(asker.session.principal).ask(hop, asker, tell)

    def health(self) -> Health:
        return self._server_of(LOCAL).health()

    def is_busy(self) -> bool:
        return any(server.is_busy() for server in self._servers.values())

    async def close(self) -> None:
        for server in self._servers.values():
            await server.close()

    def _server_of(self, principal: Principal) -> SqlServer:
        server = self._servers.get(principal)
        if server is None:
            driver = ExcerptDriver(self._excerpts, principal.name, self._policy, self._turns)
            server = self._servers[principal] = SqlServer(_SETTINGS, self._policy, driver, DUCKDB_QUERIES)
        return server
