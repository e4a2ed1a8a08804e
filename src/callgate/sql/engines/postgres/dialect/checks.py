"""What the tokens of a read or a write give away, whatever the parser makes of it. Pure.

In PostgreSQL a SELECT changes something through one of few doors: a function, an operator or a cast that runs
somebody's code, INTO, a row lock, a statement inside WITH. Functions are the guard's own business
(`guard.calls`), casts and attributes have modules of their own; the others are looked for here.
"""

from callgate.sql.engines.postgres.dialect import operators
from callgate.sql.engines.postgres.dialect.functions import SEQUENCES
from callgate.sql.engines.postgres.dialect.keyword_places import operator_behind
from callgate.sql.engines.postgres.dialect.reading import NAMES, word_at
from callgate.sql.engines.postgres.dialect.settings_names import setting_fault, settings_view_fault
from callgate.sql.engines.postgres.dialect.type_names import names_known_type
from callgate.sql.guard.bounds import arguments_of
from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.tokens import TokenKind

_LOCKS = frozenset({"update", "share", "no", "key"})


def check_tokens(tokens: Tokens, verb: str, *, may_write: bool) -> Fault | None:
    for at, token in enumerate(tokens):
        fault = None
        if token.name == "pg_settings" and token.kind in NAMES:
            fault = settings_view_fault(tokens, at)
        elif token.kind is TokenKind.OPERATOR:
            fault = _check_operator(tokens, at)
        elif token.kind in NAMES and word_at(tokens, at + 1) == "(":
            fault = _check_call(tokens, at, may_write=may_write)
        elif token.kind is TokenKind.WORD and word_at(tokens, at - 1) not in (".", "as"):
            fault = _check_word(tokens, at, may_write=may_write)
        elif token.kind is TokenKind.STRING and word_at(tokens, at + 1) == "(":
            fault = Fault("syntax", "a text in quotes cannot be called.", "Leave out the parenthesis.")
        if fault is not None:
            return fault
    return None


def _check_operator(tokens: Tokens, at: int) -> Fault | None:
    text = tokens[at].text
    if text in operators.SIGNS or text in operators.ALLOWED:
        return None
    return Fault(
        "operator",
        f"the operator {text[:40]} is not one of PostgreSQL's own.",
        "The person who defined it decides what it runs; write out what it does instead.",
    )


def _check_word(tokens: Tokens, at: int, *, may_write: bool) -> Fault | None:
    match tokens[at].name:
        case "into" if not _is_of_write(tokens, at):
            return Fault(
                "select_into",
                "SELECT … INTO creates a table.",
                "Leave out INTO: the rows are in the answer.",
                is_forbidden=True,
            )
        case "for" if word_at(tokens, at + 1) in _LOCKS and not may_write:
            return Fault(
                "lock",
                "FOR UPDATE and FOR SHARE lock rows, which is not allowed in READ-ONLY mode.",
                "Leave the FOR clause out.",
                is_forbidden=True,
            )
        case _:
            return None


def _is_of_write(tokens: Tokens, into: int) -> bool:
    """`INSERT INTO` and `MERGE INTO` where a statement begins: `SELECT insert INTO t` has a column insert."""
    starts = into == 1 or word_at(tokens, into - 2) in ("(", ")")
    behind_clause = word_at(tokens, into - 3) in ("using", "set")  # of a recursive WITH
    return word_at(tokens, into - 1) in ("insert", "merge") and (starts or behind_clause)


def _check_call(tokens: Tokens, at: int, *, may_write: bool) -> Fault | None:
    """Names before a parenthesis that are allowed, but not with every argument, or not in every mode."""
    match tokens[at].name:
        case "operator" if operator_behind(tokens, at) is None:
            return Fault(
                "operator",
                "OPERATOR(…) names an operator that is not one of PostgreSQL's own.",
                "Use the operator without its schema, or OPERATOR(pg_catalog.+).",
            )
        case "treat":
            return Fault(
                "treat",
                "TREAT(x AS name) calls the function of that name.",
                "Use CAST(x AS type).",
                is_forbidden=True,
            )
        case "pg_input_is_valid" | "pg_input_error_info":
            return _input_fault(tokens, at)
        case "current_setting":
            return setting_fault(tokens, at + 2)
        case name if name in SEQUENCES and not may_write:
            return Fault(
                "sequence",
                f"{name}() is part of writing and not allowed in READ-ONLY mode.",
                "To see where a sequence stands, read last_value from pg_sequences.",
                is_forbidden=True,
            )
        case _:
            return None


def _input_fault(tokens: Tokens, at: int) -> Fault | None:
    """`pg_input_is_valid(x, 'integer')` reads x as the type does: a domain runs its owner's CHECK."""
    arguments = arguments_of(tokens, at + 1)
    kind = arguments[1] if len(arguments) == 2 else ()
    if len(kind) == 1 and kind[0].kind is TokenKind.STRING and names_known_type(kind[0].name):
        return None
    return Fault(
        "type",
        f"{tokens[at].name} needs the name of one of PostgreSQL's own types, written out in quotes.",
        "pg_input_is_valid('12', 'integer')",
    )
