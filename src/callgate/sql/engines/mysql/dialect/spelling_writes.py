"""INSERT, REPLACE, UPDATE and DELETE in the parser's spelling: the part of `spelling` they need. Pure."""

from callgate.sql.engines.mysql.dialect.speller import NAMES, Rule, Speller
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import skip_group

_INSERT_MODIFIERS = frozenset({"LOW_PRIORITY", "DELAYED", "HIGH_PRIORITY", "IGNORE"})
_CHANGE_MODIFIERS = {
    "UPDATE": frozenset({"LOW_PRIORITY", "IGNORE"}),
    "DELETE": frozenset({"LOW_PRIORITY", "QUICK", "IGNORE"}),
}


def _insert(speller: Speller, at: int) -> None:
    """INSERT and REPLACE, with or without INTO; `INSERT INTO t SET a = 1` as `UPDATE t SET a = 1`."""
    if speller.tokens[at] is not speller.verb:
        return
    behind = at + 1
    while speller.word(behind) in _INSERT_MODIFIERS:
        behind += 1
    if speller.word(behind) == "INTO":
        behind += 1
    speller.drop(at + 1, behind)
    behind = speller.skip_name(behind)
    if speller.word(behind) == "PARTITION":
        partition, behind = behind, skip_group(speller.tokens, behind + 1)
        speller.drop(partition, behind)
    if speller.is_sign(behind, "(") and speller.is_sign(behind + 1, ")"):
        speller.drop(behind, behind + 2)  # INSERT INTO t () VALUES ()
    speller.sets_columns = speller.word(behind) == "SET"
    speller.instead[at] = "UPDATE" if speller.sets_columns else "INSERT INTO"
    if speller.sets_columns:
        _drop_row_alias(speller, behind)
    else:
        _shorten_columns(speller, behind)


def _drop_row_alias(speller: Speller, at: int) -> None:
    """`INSERT INTO t SET a = 1 AS new (x) ON DUPLICATE KEY UPDATE …`"""
    for index in speller.at_depth(at, len(speller.tokens)):
        if speller.word(index) == "AS" and index + 1 < len(speller.tokens):
            behind = skip_group(speller.tokens, index + 2)
            if speller.tokens[index + 1].kind in NAMES and speller.word(behind) == "ON":
                speller.drop(index, behind)


def _shorten_columns(speller: Speller, at: int) -> None:
    """`INSERT INTO t (t.a, shop.t.b)`: the last name is the column's."""
    end = skip_group(speller.tokens, at)
    inside = range(at + 1, end - 1)
    if all(speller.tokens[index].kind in NAMES or speller.tokens[index].text in ".," for index in inside):
        for index in inside:
            if speller.is_sign(index, "."):
                speller.drop(index - 1, index + 1)


def _change(speller: Speller, at: int) -> None:
    if speller.tokens[at] is speller.verb:
        behind = at + 1
        while speller.word(behind) in _CHANGE_MODIFIERS[speller.verb.word]:
            behind += 1
        speller.drop(at + 1, behind)
        _drop_stars(speller, behind)


def _drop_stars(speller: Speller, at: int) -> None:
    """`DELETE o.*, i.* FROM …`: only the names of the tables count."""
    if speller.verb.word != "DELETE":
        return
    if speller.word(at) == "FROM":
        at += 1
    while at < len(speller.tokens) and (speller.tokens[at].kind in NAMES or speller.tokens[at].text in ".,*"):
        if speller.word(at) in ("FROM", "USING"):
            return
        if speller.is_sign(at, ".") and speller.is_sign(at + 1, "*"):
            speller.drop(at, at + 2)
        at += 1


def _assignment(speller: Speller, at: int) -> None:
    """`UPDATE t SET a := 1`. Assigned variables are refused before."""
    speller.instead[at] = "="


def _on(speller: Speller, at: int) -> None:
    if [speller.word(at + ahead) for ahead in (1, 2, 3)] == ["DUPLICATE", "KEY", "UPDATE"]:
        speller.is_duplicate_clause = True
        if speller.sets_columns:
            speller.instead[at] = ","
            speller.drop(at + 1, at + 4)


def _straight_join(speller: Speller, at: int) -> None:
    speller.instead[at] = "JOIN"


def _index_hint(speller: Speller, at: int) -> None:
    """`UPDATE t USE INDEX (a, b) SET …`: sqlglot knows it in queries only."""
    if speller.verb.word not in _CHANGE_MODIFIERS or speller.word(at + 1) not in ("INDEX", "KEY"):
        return
    end = skip_group(speller.tokens, at + 2)
    inside = speller.tokens[at + 3 : end - 1]
    if end > at + 2 and all(token.kind in NAMES or token.text == "," for token in inside):
        speller.drop(at, end)


def _portion(speller: Speller, at: int) -> None:
    """MariaDB's `UPDATE t FOR PORTION OF period FROM '2024-01-01' TO '2024-02-01' SET …`"""
    if [speller.word(at + ahead) for ahead in (1, 2)] != ["PORTION", "OF"]:
        return
    end = at + 4
    for word in ("FROM", "TO"):
        end += 1 if speller.word(end) == word else 0
        end += 1 if speller.word(end) in ("DATE", "TIMESTAMP") else 0
        if end >= len(speller.tokens) or speller.tokens[end].kind not in (TokenKind.STRING, TokenKind.NUMBER):
            return
        end += 1
    speller.drop(at, end)


RULES: dict[str, Rule] = {
    "INSERT": _insert,
    "REPLACE": _insert,
    "UPDATE": _change,
    "DELETE": _change,
    "ON": _on,
    "STRAIGHT_JOIN": _straight_join,
    **dict.fromkeys(("USE", "IGNORE", "FORCE"), _index_hint),
    "FOR": _portion,
    ":=": _assignment,
}
