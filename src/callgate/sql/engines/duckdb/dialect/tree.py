"""What sqlglot's tree says about the sources of a DuckDB statement. Imports sqlglot: import it late."""

from collections.abc import Iterable

from sqlglot import exp

from callgate.sql.engines.duckdb.dialect.file_names import check_names
from callgate.sql.engines.duckdb.dialect.functions import ALLOWED, TABLES
from callgate.sql.engines.duckdb.dialect.keywords import RESERVED
from callgate.sql.guard.dialect import Fault

# range() is a series too. The readers are on the list of what is never called, which says it better.
_JUDGED_ELSEWHERE = (exp.GenerateSeries, exp.Unnest, exp.ReadCSV, exp.ReadParquet)


def check_sources(nodes: Iterable[exp.Expr]) -> Fault | None:
    """No file as a table, even behind a CTE of the same name; no function in FROM that belongs elsewhere."""
    for node in nodes:
        if isinstance(node, exp.Table) and isinstance(node.this, exp.Identifier):
            fault = check_names((".".join(str(part.name) for part in node.parts),))
        elif not isinstance(node, (exp.Table, exp.Lateral)):
            continue
        else:
            is_query = isinstance(node, exp.Lateral) and isinstance(node.this, exp.Subquery)
            fault = None if is_query else _check_function(node.this)
        if fault is not None:
            return fault
    return None


def _check_function(source: object) -> Fault | None:
    """Others refuse what is on no list. `histogram` is on one, as an aggregate: in FROM it reads any file."""
    if isinstance(source, _JUDGED_ELSEWHERE):
        return None
    name = str(source.name).lower() if isinstance(source, exp.Anonymous) else ""
    if name in TABLES or (name and name not in ALLOWED | RESERVED):
        return None
    return Fault(
        "table_function",
        f"{name or 'this function'} cannot be used in FROM as a table.",
        "Call it after SELECT, or write a table, a view or a query in parentheses after FROM.",
        is_forbidden=True,
    )
