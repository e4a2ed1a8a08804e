"""Casts: `x::t`, `CAST(x AS t)`, `t 'x'`, and the columns of `AS r (a t)`. Pure.

A cast may run what the owner of the type wrote: the function of a CREATE CAST, the CHECK of a domain. The
engine's own types are harmless. Of others only written-out values are read, and only where the label of an
enum has its place: beside another value, in what is written, as the model of json_populate_record.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from callgate.sql.engines.postgres.dialect.column_lists import columns_from
from callgate.sql.engines.postgres.dialect.functions import ALLOWED
from callgate.sql.engines.postgres.dialect.keywords import BEFORE_PARENTHESIS, RESERVED
from callgate.sql.engines.postgres.dialect.operators import COMPARISONS
from callgate.sql.engines.postgres.dialect.reading import Reading
from callgate.sql.engines.postgres.dialect.type_names import TypeName, read_type
from callgate.sql.guard.dialect import Fault
from callgate.sql.guard.tokens import TokenKind
from callgate.sql.guard.verbs import find_verb

# What may make up a written-out value, beside texts. Numbers and true are of types that a CREATE CAST
# may start from, alone and in an array; a text in quotes is read by the type itself.
_CONSTANT_WORDS = frozenset({"null", "array", "(", ")", "[", "]", ","})
# Take a value of an enum or of a row type for its type alone, or look one up among others.
_TAKE_LABELS = frozenset(
    {
        *("enum_range", "enum_first", "enum_last", "array_position", "array_positions"),
        *("json_populate_record", "json_populate_recordset"),
        *("jsonb_populate_record", "jsonb_populate_recordset"),
        *("in", "any", "all", "some", "coalesce", "nullif"),
    }
)
_BEFORE_LABEL = frozenset({"when", "then", "else", "between"})
_WRITES = frozenset({"insert", "update", "merge"})
# Unreserved words that a text may follow, and what must stand before them; an empty set asks for nothing.
_BEFORE_TEXT: dict[str, frozenset[str]] = {
    "zone": frozenset({"time"}),
    "escape": frozenset(),
    "by": frozenset({"order", "group", "partition"}),
    "between": frozenset(),
}
_BEFORE_TEXT_IN_XML = frozenset(
    {"document", "content", "passing", "path", "version", "ref", "value", "key", "format"}
)
_XML = frozenset(
    {"xmltable", "xmlparse", "xmlroot", "xmlexists", "xmlserialize", "json_table", "json_object"}
)
_LONGEST_TYPE = 12  # tokens before its end: pg_catalog.timestamp(3) with time zone has nine


@dataclass(frozen=True, slots=True)
class _Cast:
    begin: int  # its first token
    type_at: int
    operand: tuple[int, int] | None = None  # from, to (exclusive); None: not one that could be written out


def check_casts(read: Reading, allowed: frozenset[str]) -> Fault | None:
    """`allowed`: names of types that the operator vouches for, or that are plain lists of labels."""
    for at, token in enumerate(read.tokens):
        if token.kind is TokenKind.STRING and (fault := _typed_literal(read, at, allowed)):
            return fault
    verb = find_verb(read.tokens)
    is_write = verb is not None and verb.name in _WRITES
    for cast in _casts(read):
        found = read_type(read.tokens, cast.type_at)
        if found is None:
            return Fault("cast", "a cast names no type.", "Write CAST(x AS type) or x::type.")
        if found.is_known or found.name in allowed:
            continue
        if not _is_label(read, cast, found, is_write=is_write):
            return _unknown_type(found.name)
    return None


def _unknown_type(name: str) -> Fault:
    return Fault(
        "type",
        f"{name[:60]} is not one of PostgreSQL's own types, and a cast to it may run its owner's code.",
        "Leave the cast out: a text in quotes takes the type of the column it is compared with. Or ask the "
        f'operator to add allow_functions = ["{name[:60]}"] for this source.',
    )


def _casts(read: Reading) -> Iterator[_Cast]:
    seen_columns: set[int] = set()
    for at in range(len(read)):
        word = read.word(at)
        if word == "::":
            operand = _operand_before(read, at)
            yield _Cast(operand[0] if operand else at, at + 1, operand)
        elif word == "(" and _may_define_columns(read, at - 1):
            yield from (_Cast(at, type_at) for type_at in columns_from(read.tokens, at) or ())
        elif word == "as":
            opening = read.inside[at]
            if read.word(opening - 1) == "cast":
                yield _Cast(opening - 1, at + 1, (opening + 1, at))
            elif read.word(opening - 1) == "xmlserialize":
                yield _Cast(opening - 1, at + 1)
        elif word == "returning" and read.word(read.inside[at] - 1).startswith("json_"):
            yield _Cast(at, at + 1)
        elif word == "columns" and read.inside[at] not in seen_columns:
            seen_columns.add(read.inside[at])
            yield from _table_columns(read, at)


def _may_define_columns(read: Reading, at: int) -> bool:
    """`AS (a int)`, `AS r (a int)`, `f(x) r (a int)`; a call's own words (`xmlparse(document x)`) do not."""
    if read.word(at) == "as" or read.word(at - 1) in ("as", ")"):
        return True
    return read.is_name(at) and read.word(at) not in BEFORE_PARENTHESIS and read.word(at) not in ALLOWED


def _table_columns(read: Reading, at: int) -> Iterator[_Cast]:
    """Of XMLTABLE and JSON_TABLE: `name type PATH '…'`, `name FOR ORDINALITY`, `NESTED PATH '…'`."""
    opening = read.inside[at]
    if read.word(opening - 1) not in ("xmltable", "json_table", "columns"):
        return
    if read.word(at + 1) == "(":
        opening = at + 1
        at += 1
    is_start = True
    for index in range(at + 1, len(read)):
        if read.opening_of.get(index) == opening:
            return
        if read.inside[index] != opening:
            continue
        if is_start and read.word(index) != "nested" and read.word(index + 1) not in ("for", "path"):
            yield _Cast(index, index + 1)
        is_start = read.word(index) == ","


def _operand_before(read: Reading, at: int) -> tuple[int, int] | None:
    """The text, NULL, ARRAY[…] or ROW(…) that ends right before `at`. Behind a dot it is a column."""
    last = at - 1
    begin = last
    if read.word(last) in ("]", ")"):
        begin = read.opening_of.get(last, 0) - 1
        is_value = read.word(begin) == ("array" if read.word(last) == "]" else "row")
    else:
        is_value = last >= 0 and (read.tokens[last].kind is TokenKind.STRING or read.word(last) == "null")
    return (begin, at) if is_value and read.word(begin - 1) != "." else None


def _is_label(read: Reading, cast: _Cast, found: TypeName, *, is_write: bool) -> bool:
    if cast.operand is None or not _is_written_out(read, *cast.operand):
        return False
    return is_write or _is_beside_comparison(read, cast, found)


def _is_written_out(read: Reading, begin: int, end: int) -> bool:
    """A text, NULL, or a list of such. A `row` without a parenthesis is a column."""
    return begin < end and all(
        read.tokens[at].kind is TokenKind.STRING
        or read.word(at) in _CONSTANT_WORDS
        or (read.word(at) == "row" and read.word(at + 1) == "(")
        for at in range(begin, end)
    )


def _is_beside_comparison(read: Reading, cast: _Cast, found: TypeName) -> bool:
    before = read.word(cast.begin - 1)
    end = found.end + 1 if read.word(cast.begin) == "cast" else found.end
    if before in COMPARISONS or before in _BEFORE_LABEL or read.word(end) in COMPARISONS:
        return True
    if before == "and":  # BETWEEN 'new'::status AND 'paid'::status
        return any(read.word(cast.begin - back) == "between" for back in range(3, _LONGEST_TYPE))
    if before not in ("(", ",", "["):
        return False
    opening = read.inside[cast.begin]
    taker = read.word(opening - 1) if opening > 0 else ""
    if taker == "array" and read.word(opening - 2) == "(":
        taker = read.word(opening - 3)
    return taker in _TAKE_LABELS


def _typed_literal(read: Reading, at: int, allowed: frozenset[str]) -> Fault | None:
    """`date '2024-01-01'` is a cast: the name before a text must be a type that we know, or no name."""
    if at == 0 or (read.tokens[at - 1].kind is TokenKind.OPERATOR and read.word(at - 1) != ")"):
        return None
    if _may_precede_text(read, at - 1):
        return None
    found = _type_before(read, at)
    if found is None:
        return Fault(
            "syntax",
            "there is a text in quotes where PostgreSQL expects none.",
            "Check the commas and operators around it.",
        )
    return None if found.is_known or found.name in allowed else _unknown_type(found.name)


def _may_precede_text(read: Reading, at: int) -> bool:
    word = read.word(at)
    if word == ")":  # DISTINCT ON (a) 'x', 'a' OPERATOR(pg_catalog.||) 'b'
        opening = read.opening_of.get(at, 0)
        before = read.word(opening - 1)
        return before == "operator" or (before == "on" and read.word(opening - 2) == "distinct")
    if word in RESERVED or word in ("like", "ilike", "similar"):
        return True
    if word in _BEFORE_TEXT:
        return not _BEFORE_TEXT[word] or read.word(at - 1) in _BEFORE_TEXT[word]
    return word in _BEFORE_TEXT_IN_XML and not _XML.isdisjoint(read.vocabulary)


def _type_before(read: Reading, at: int) -> TypeName | None:
    """The type that ends right before `at`, read from the earliest place where it may begin."""
    for begin in range(max(at - _LONGEST_TYPE, 0), at):
        if not read.is_name(begin) or read.word(begin - 1) == "." or read.word(begin) in RESERVED:
            continue
        found = read_type(read.tokens, begin)
        if found is not None and found.end == at:
            return found
    return None
