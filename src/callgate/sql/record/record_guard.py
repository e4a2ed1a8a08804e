"""RecordGuard: the verdict on a user's SQL over the record, in the dialect of its store.

Implements `ports.StatementGuard`. An engine's own guard with shorter lists: the functions that a source of
that engine may call, without those that tell of the database, which here is our own bookkeeping. FROM takes
the record's four tables, values and series.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.model.verdict import Deny
from callgate.ports.record_store import SqlDialect
from callgate.sql.engines.duckdb.dialect import functions as duckdb_functions
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.guard.dialect import Dialect, VerbClass
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import word_set
from callgate.sql.server.judge_thread import JudgeThread

TABLES = frozenset({"rpc_events", "sessions", "rpc_event_upstreams", "gaps"})
_SELECT_HINT = "Write one SELECT over the record's tables"


def _policy(dialect: Dialect, left_out: frozenset[str], table_functions: frozenset[str]) -> Policy:
    vocabulary, wording = dialect.vocabulary, dialect.wording
    return Policy(
        replace(
            dialect,
            name="record",
            vocabulary=replace(
                vocabulary, functions=vocabulary.functions - left_out, table_functions=table_functions
            ),
            wording=replace(
                wording,
                read_hint="Write one SELECT over the record's tables.",
                hidden_hint="Read the record's tables only.",
            ),
        ),
        only_tables=TABLES,
        is_fixed=True,
    )


def _duckdb_policy() -> Policy:
    series = word_set("generate_series json_each json_tree range unnest")
    return _policy(DUCKDB, duckdb_functions.SYSTEM_CATALOG, series)


def _postgres_policy() -> Policy:
    # Here and not above: a gateway with its record in DuckDB files may have no need of them.
    from callgate.sql.engines.postgres.dialect import functions
    from callgate.sql.engines.postgres.dialect.dialect import POSTGRES

    system = functions.INFORMATION | functions.STATISTICS | functions.SEQUENCES
    return _policy(POSTGRES, system, POSTGRES.vocabulary.table_functions)


_POLICIES: Mapping[SqlDialect, Callable[[], Policy]] = {
    "duckdb": _duckdb_policy,
    "postgres": _postgres_policy,
}


class RecordGuard:
    def __init__(self, dialect: SqlDialect) -> None:
        self._policy = _POLICIES[dialect]()
        self._judge = JudgeThread(self._policy)

    async def allowed(self, sql: str) -> str:
        return self._allowed(await self._judge.judged(sql))

    def close(self) -> None:
        self._judge.close()

    def _allowed(self, judgement: Judgement) -> str:
        verbs = self._policy.dialect.grammar.verbs
        kinds = [one.statement_type for one in judgement.statements]
        if any(kind != "UNKNOWN" and verbs.get(kind) is not VerbClass.READ for kind in kinds):
            raise CallerError(CALLER_BAD_PARAMS, "Only SELECT is allowed here", hint=_SELECT_HINT)
        if isinstance(judgement.verdict, Deny):
            reason = judgement.verdict.reason
            raise CallerError(
                CALLER_BAD_PARAMS, reason[:1].upper() + reason[1:].rstrip("."), hint=judgement.verdict.hint
            )
        if len(judgement.statements) != 1:
            raise CallerError(CALLER_BAD_PARAMS, "One statement at a time", hint=_SELECT_HINT)
        return judgement.statements[0].text
