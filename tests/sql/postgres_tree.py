"""What PostgreSQL's own grammar sees in a statement that the guard must not let through: a second opinion.

`postgast` carries libpg_query, the parser of PostgreSQL 18 made into a library. Why the guard itself does not
rely on it: docs/decisions/0001-libraries.md. The tree is read with the guard's own lists of names; what only
the guard's rules or the schema can decide (labels of enums, columns of rows, sizes, hidden tables) is not
looked at. A node that is not listed here counts as found.
"""

import json
from collections.abc import Iterator
from typing import Any

from postgast.native import lib

from callgate.sql.engines.postgres.dialect import operators
from callgate.sql.engines.postgres.dialect.functions import ALLOWED, EXTENSION_TYPES, SEQUENCES, TYPES
from callgate.sql.engines.postgres.dialect.refused_functions import REFUSED
from callgate.sql.guard.tokens import word_set

_NODES = word_set(
    """
    A_ArrayExpr A_Const A_Expr A_Indices A_Indirection A_Star BitString BoolExpr Boolean BooleanTest CaseExpr
    CaseWhen CoalesceExpr CollateClause ColumnDef ColumnRef CommonTableExpr Float FuncCall GroupingFunc
    GroupingSet Integer JoinExpr JsonArgument JsonArrayAgg JsonArrayConstructor JsonArrayQueryConstructor
    JsonFuncExpr JsonIsPredicate JsonKeyValue JsonObjectAgg JsonObjectConstructor JsonParseExpr JsonScalarExpr
    JsonSerializeExpr JsonTable JsonTableColumn JsonValueExpr List MergeSupportFunc MinMaxExpr NamedArgExpr
    NullTest RangeFunction RangeSubselect RangeTableFunc RangeTableFuncCol RangeTableSample RangeVar ResTarget
    RowExpr SQLValueFunction SelectStmt SetToDefault SortBy String SubLink TypeCast TypeName WindowDef XmlExpr
    XmlSerialize
    """
)
# What special syntax is turned into, beside functions that can be called by name.
_OF_SYNTAX = frozenset({"similar_to_escape", "like_escape", "xmlexists"})
_OPERATORS = operators.ALLOWED | {
    *("BETWEEN", "NOT BETWEEN", "BETWEEN SYMMETRIC", "NOT BETWEEN SYMMETRIC"),
}
_LISTS = {"A_ArrayExpr": "elements", "RowExpr": "args"}


def syntax_error(sql: str) -> str | None:
    return _parsed(sql)[1]


def found_in(sql: str) -> list[str]:
    """What a read must not have in it, as "kind: name"; empty when PostgreSQL's grammar cannot read it."""
    tree, _ = _parsed(sql)
    if tree is None:
        return []
    return [found for statement in tree.get("stmts", []) for found in _of_statement(statement["stmt"])]


def _of_statement(statement: dict[str, Any]) -> list[str]:
    """Which statements may be explained, and which settings shown, is decided by small grammars of ours."""
    if "VariableShowStmt" in statement:
        return []
    if explained := statement.get("ExplainStmt"):
        return [found for found in _of_node(explained["query"]) if not found.startswith("node")]
    return list(_of_node(statement))


def _parsed(sql: str) -> tuple[dict[str, Any] | None, str | None]:
    result = lib.pg_query_parse(sql.encode())
    try:
        if result.error:
            return None, result.error.contents.message.decode(errors="replace")
        return json.loads(result.parse_tree), None
    except RecursionError:
        return None, "nested too deep"
    finally:
        lib.pg_query_free_parse_result(result)


def _of_node(value: Any, field: str = "") -> Iterator[str]:
    if isinstance(value, list):
        for entry in value:
            yield from _of_node(entry, field)
        return
    if not isinstance(value, dict):
        return
    # A node is an object with its type as the only key; parts that can be of one type only have no such key.
    kind = next(iter(value), "")
    if len(value) == 1 and kind[:1].isupper():
        value = value[kind]
        if kind not in _NODES:
            yield f"node: {kind}"
    elif field == "intoClause":
        kind = "IntoClause"
        yield "node: IntoClause"
    else:
        kind = "TypeName" if field == "typeName" else ""
    yield from _of_kind(kind, value)
    is_label = kind == "TypeCast" and _is_written_out(value["arg"])
    for name, part in value.items() if isinstance(value, dict) else ():
        if not (is_label and name == "typeName"):
            yield from _of_node(part, name)


def _is_written_out(node: dict[str, Any]) -> bool:
    """A text, NULL, or a list of such: whether it is the label of an enum is for the guard to say."""
    ((kind, value),) = node.items()
    if kind in _LISTS:
        return all(map(_is_written_out, value.get(_LISTS[kind], [])))
    return kind == "A_Const" and ("sval" in value or value.get("isnull", False))


def _of_kind(kind: str, node: dict[str, Any]) -> Iterator[str]:
    match kind:
        case "FuncCall":
            yield from _function(_names(node["funcname"]))
        case "A_Expr":
            yield from _operator(_names(node["name"]))
        case "SubLink":
            yield from _operator(_names(node.get("operName", [])))
        case "SortBy":
            yield from _operator(_names(node.get("useOp", [])))
        case "TypeName":
            yield from _type(_names(node.get("names", [])))
        case "ColumnRef":
            # Only the last part of a dotted name can be a function.
            yield from _attributes(_names(node["fields"][1:][-1:]))
        case "A_Indirection":
            yield from _attributes(_names(node["indirection"]))
        case _:
            return


def _names(nodes: list[dict[str, Any]]) -> list[str]:
    return [node["String"].get("sval", "") for node in nodes if "String" in node]


def _function(names: list[str]) -> Iterator[str]:
    name = names[-1] if names[:-1] in ([], ["pg_catalog"]) else ".".join(names)
    if name not in ALLOWED and name not in _OF_SYNTAX:
        yield f"function: {name}"


def _operator(names: list[str]) -> Iterator[str]:
    if names and (names[-1] not in _OPERATORS or names[:-1] not in ([], ["pg_catalog"])):
        yield f"operator: {'.'.join(names)}"


def _type(names: list[str]) -> Iterator[str]:
    is_own = names[:-1] in ([], ["pg_catalog"]) and names[-1:] and names[-1] in TYPES | EXTENSION_TYPES
    is_of_extension = names[:-1] in (["public"], ["extensions"]) and names[-1] in EXTENSION_TYPES
    if names and not is_own and not is_of_extension:
        yield f"type: {'.'.join(names)}"


def _attributes(names: list[str]) -> Iterator[str]:
    yield from (f"attribute: {name}" for name in names if name in REFUSED or name in SEQUENCES)
