"""Whether a user's SQL is one SELECT over the record's tables: DuckDB's guard with shorter lists. Pure.

The functions are those that a DuckDB source may call, without what tells of the catalogue: in the process
that runs the query that is our own bookkeeping. In FROM there are the record's four tables, values, series.
"""

from dataclasses import replace

from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError
from callgate.model.verdict import Deny
from callgate.sql.engines.duckdb.dialect import functions
from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB
from callgate.sql.guard.dialect import VerbClass
from callgate.sql.guard.judgement import Judgement, Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import word_set

TABLES = frozenset({"rpc_events", "sessions", "rpc_event_upstreams", "gaps"})
POLICY = Policy(
    replace(
        DUCKDB,
        name="record",
        vocabulary=replace(
            DUCKDB.vocabulary,
            functions=DUCKDB.vocabulary.functions - functions.CATALOGUE,
            table_functions=word_set("generate_series json_each json_tree range unnest"),
        ),
        wording=replace(
            DUCKDB.wording,
            read_hint="Write one SELECT over the record's tables.",
            hidden_hint="Read the record's tables only.",
        ),
    ),
    only_tables=TABLES,
    is_fixed=True,
)
_HINT = "Write one SELECT over the record's tables"


def allowed_statement(judgement: Judgement) -> Statement:
    """Raises CallerError."""
    verbs = POLICY.dialect.grammar.verbs
    kinds = [one.statement_type for one in judgement.statements]
    if any(kind != "UNKNOWN" and verbs.get(kind) is not VerbClass.READ for kind in kinds):
        raise CallerError(CALLER_BAD_PARAMS, "Only SELECT is allowed here", hint=_HINT)
    if isinstance(judgement.verdict, Deny):
        reason = judgement.verdict.reason
        raise CallerError(
            CALLER_BAD_PARAMS, reason[:1].upper() + reason[1:].rstrip("."), hint=judgement.verdict.hint
        )
    if len(judgement.statements) != 1:
        raise CallerError(CALLER_BAD_PARAMS, "One statement at a time", hint=_HINT)
    return judgement.statements[0]
