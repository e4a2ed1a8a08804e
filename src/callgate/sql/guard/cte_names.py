"""Whether a name in FROM is that of a CTE, and not of a table. Pure; imports sqlglot: import it late.

A CTE is known inside the query that its WITH belongs to, and nowhere else. Within the WITH it is known to
those that follow, and to itself when the WITH is RECURSIVE. Where engines differ (SQLite knows them all,
PostgreSQL too when the WITH is RECURSIVE) a name counts as a table's: a table is looked at more closely.
"""

from collections.abc import Callable
from typing import Any, cast

from sqlglot import exp


def names_cte(node: exp.Expr, name: exp.Identifier, fold_name: Callable[..., str]) -> bool:
    """`node`: where the name stands. `fold_name`: as the engine compares names."""
    wanted = _folded(name, fold_name)
    inner: exp.Expr = node
    outer = node.parent
    while outer is not None:
        if any(_folded(cte_name, fold_name) == wanted for cte_name in _known_to(outer, inner)):
            return True
        inner, outer = outer, outer.parent
    return False


def _known_to(outer: exp.Expr, inner: exp.Expr) -> list[exp.Identifier]:
    """The names of CTEs that `outer` itself adds for its part `inner`."""
    arguments = cast("dict[str, Any]", cast("Any", outer).args)
    if isinstance(outer, exp.With):
        ctes = cast("list[exp.Expr]", outer.expressions)
        at = next((at for at, cte in enumerate(ctes) if cte is inner), 0)
        return _names(ctes[: at + 1] if arguments.get("recursive") else ctes[:at])
    clause = arguments.get("with_")
    if not isinstance(clause, exp.With) or clause is inner:
        return []
    return _names(cast("list[exp.Expr]", clause.expressions))


def _names(ctes: list[exp.Expr]) -> list[exp.Identifier]:
    aliases = [cast("Any", cte).args.get("alias") for cte in ctes]
    return [alias.this for alias in aliases if alias is not None and isinstance(alias.this, exp.Identifier)]


def _folded(name: exp.Identifier, fold_name: Callable[..., str]) -> str:
    return fold_name(name.name, is_quoted=bool(cast("Any", name).args.get("quoted")))
