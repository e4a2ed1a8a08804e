"""PostgreSQL's statements as the guard's `Grammar`: verbs, forms, and the checks put together. Pure."""

from collections.abc import Iterable
from types import MappingProxyType
from typing import Any

from callgate.sql.engines.postgres.dialect import forms
from callgate.sql.engines.postgres.dialect.attributes import check_attributes
from callgate.sql.engines.postgres.dialect.casts import check_casts
from callgate.sql.engines.postgres.dialect.checks import check_tokens
from callgate.sql.engines.postgres.dialect.column_lists import calls_nothing, columns_from
from callgate.sql.engines.postgres.dialect.functions import ALLOWED
from callgate.sql.engines.postgres.dialect.reading import Reading
from callgate.sql.engines.postgres.dialect.refused_functions import REFUSED
from callgate.sql.engines.postgres.dialect.spelling import canonical
from callgate.sql.guard.dialect import COMMON_VERBS, Fault, Grammar, Tokens, VerbClass
from callgate.sql.guard.tokens import fold

_NEVER = (
    *("COPY", "DO", "CALL", "LISTEN", "NOTIFY", "UNLISTEN", "PREPARE", "EXECUTE", "DEALLOCATE", "DECLARE"),
    *("FETCH", "MOVE", "CLOSE", "SET", "RESET", "DISCARD", "LOCK", "VACUUM", "ANALYZE", "ANALYSE", "CLUSTER"),
    *("REINDEX", "CHECKPOINT", "REFRESH", "SECURITY", "COMMENT", "IMPORT", "GRANT", "REVOKE", "REASSIGN"),
    *("LOAD", "DROP", "TRUNCATE"),
)
_VERBS = {
    **{verb: kind for verb, kind in COMMON_VERBS.items() if kind is not VerbClass.NEVER},
    **dict.fromkeys(_NEVER, VerbClass.NEVER),
    **dict.fromkeys(("START", "END", "ABORT"), VerbClass.TRANSACTION),
    "TABLE": VerbClass.READ,
    "MERGE": VerbClass.WRITE,
}


def called(tokens: Tokens, at: int) -> str:
    """`pg_catalog.lower` is lower; what another schema holds is on no list of built-ins."""
    if at >= 2 and tokens[at - 1].is_operator("."):
        schema = tokens[at - 2].name
        return tokens[at].name if schema == "pg_catalog" else f"{schema}.{tokens[at].name}"
    return tokens[at].name


def check_names(tokens: Tokens, functions: frozenset[str], types: frozenset[str]) -> Fault | None:
    read = Reading(tokens)
    return (
        _check_defined_columns(read, functions)
        or check_casts(read, (functions - ALLOWED) | types)
        or check_attributes(read, functions)
    )


def _check_defined_columns(read: Reading, functions: frozenset[str]) -> Fault | None:
    """`FROM a, f(x) AS (b int)` calls f; without the list of columns it would be a CTE to the guard."""
    for at in range(2, len(read)):
        if read.word(at) != "(" or read.word(at - 1) != "as" or read.word(at - 2) != ")":
            continue
        name_at = read.opening_of.get(at - 2, 0) - 1
        if columns_from(read.tokens, at) is None or not read.is_name(name_at):
            continue
        name = called(read.tokens, name_at)
        if name not in functions:
            return Fault(
                "function",
                f"the function {name[:60]}() is not on the list of PostgreSQL's harmless functions.",
                f'Ask the operator to add allow_functions = ["{name[:60]}"] for this source.',
            )
    return None


def check_tree(nodes: Iterable[Any]) -> Fault | None:
    """A second opinion on calls, should a name before a parenthesis ever be taken for something else."""
    from sqlglot import exp

    for call in nodes:
        name = fold(str(call.name)) if isinstance(call, exp.Anonymous) else ""
        if name in REFUSED:
            return Fault(
                "forbidden_function",
                f"the function {name}() is never allowed.",
                "Leave it out.",
                is_forbidden=True,
            )
    return None


def fold_name(name: str, *, is_quoted: bool) -> str:
    return name if is_quoted else fold(name)


GRAMMAR = Grammar(
    verbs=MappingProxyType(_VERBS),
    forms=MappingProxyType({"EXPLAIN": forms.explain, "SHOW": forms.show}),
    canonical=canonical,
    transaction=forms.TRANSACTION.step,
    definition=forms.definition,
    check_tokens=check_tokens,
    check_names=check_names,
    check_tree=check_tree,
    called=called,
    names_columns=calls_nothing,
    fold_name=fold_name,
    locks_in_write_mode=True,
    writes_in_ctes=True,
)
