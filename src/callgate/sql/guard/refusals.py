"""The sentences of a refusal: rule, what was found, what to do instead; in the seed's words if any."""

from callgate.model import error_codes as codes
from callgate.model.verdict import Deny
from callgate.sql.policy import MAX_NESTING, MAX_QUERY_CHARS, MAX_STATEMENTS, Policy
from callgate.sql.tokens import Token, line_and_column

_DANGEROUS = frozenset({"DROP", "TRUNCATE"})
_READ_HINT = "Use SELECT, VALUES, WITH … SELECT, EXPLAIN or a PRAGMA that only reads."


def write_in_read_only(verb: str, policy: Policy) -> Deny:
    return Deny(
        codes.REFUSED_READ_ONLY,
        "read_only",
        f"{verb} operations are not allowed in READ-ONLY mode.",
        policy.write_advice,
    )


def never(verb: str, policy: Policy) -> Deny:
    """Forbidden in every mode."""
    if verb in _DANGEROUS:
        reason = f"{verb} operations are dangerous and never allowed for safety."
        if policy.may_write:
            reason = f"{verb} operations are dangerous and never allowed, even in WRITE mode."
        hint = f"Use {policy.dialect.display_name}'s own command line for destructive operations."
        return Deny(codes.REFUSED_FORBIDDEN, "never", reason, hint)
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "never",
        f"{verb} is an administrative command and never allowed.",
        _READ_HINT,
    )


def definition(verb: str, policy: Policy) -> Deny:
    if policy.allow_ddl and not policy.may_write:
        return write_in_read_only(verb, policy)
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "ddl",
        f"{verb} operations change the schema and are not allowed.",
        'The operator can set allow_ddl = true together with mode = "write" for this source.',
    )


def definition_kind(what: str) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "ddl_kind",
        f"{what} is never allowed, not even with allow_ddl.",
        "CREATE TABLE, CREATE INDEX, CREATE VIEW and ALTER TABLE … ADD or RENAME are.",
    )


def function(name: str, policy: Policy) -> Deny:
    if name in policy.dialect.vocabulary.forbidden_functions:
        return Deny(
            codes.REFUSED_FORBIDDEN,
            "forbidden_function",
            f"the function {name}() reaches outside the database and is never allowed.",
            "Leave it out.",
        )
    return Deny(
        codes.REFUSED_FUNCTION,
        "function",
        f"the function {name}() is not on the list of {policy.dialect.display_name}'s harmless functions.",
        f'Use a built-in function, or ask the operator to add allow_functions = ["{name}"] for this source.',
    )


def needle(name: str) -> Deny:
    hint = "Write it out in 'single quotes' or with char(), at most 200 characters."
    if name == "instr":
        hint += " To search for another column's text, use a LIKE '%' || b || '%'."
    return Deny(
        codes.REFUSED_FUNCTION,
        "needle",
        f"the second argument of {name}() must be a short text that is written out here.",
        hint,
    )


def hidden_table(name: str) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "hidden_table",
        f"{name} shows the engine's internals and is never readable here.",
        "Read ordinary tables and views; sqlite_master lists them.",
    )


def system_table_write(name: str) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "system_table",
        f"{name} belongs to the engine and is never written to.",
        "Write to ordinary tables only.",
    )


def unclear(rule: str, reason: str, hint: str = _READ_HINT) -> Deny:
    return Deny(codes.REFUSED_UNCLEAR, rule, reason, hint)


def unknown_verb(token: Token, policy: Policy) -> Deny:
    shown = token.text[:40]
    advice = policy.dialect.foreign_verbs.get(token.word)
    if advice is not None:
        advice = advice.format(master=policy.catalogue)
        return unclear(
            "unknown_statement", f"{shown} does not begin a statement that is understood here.", advice
        )
    return unclear("unknown_statement", f"{shown!r} does not begin a statement that is understood here.")


def hidden_text(token: Token, text: str) -> Deny:
    line, column = line_and_column(text, token.start)
    return unclear(
        "lexer",
        f"{token.fault} (line {line}, column {column}).",
        "Remove or close it; plain spaces and quoted texts are fine.",
    )


def hidden_statement(kind: str, verb: str, policy: Policy) -> Deny:
    """A statement inside another one, such as a data-modifying CTE."""
    if kind in ("INSERT", "UPDATE", "DELETE") and not policy.may_write:
        return write_in_read_only(kind, policy)
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "hidden_statement",
        f"{kind} may not stand inside a {verb} statement.",
        "Send it as a statement of its own, or leave it out.",
    )


def explained(verb: str, *, is_known: bool) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN if is_known else codes.REFUSED_UNCLEAR,
        "explain",
        f"EXPLAIN {verb} is not allowed.",
        "Explain a query: EXPLAIN QUERY PLAN SELECT …",
    )


def placeholder(token: Token) -> Deny:
    return unclear(
        "placeholder",
        f"the placeholder {token.text[:40]} has no value here.",
        "Write the value itself into the query, texts in 'single quotes'.",
    )


def too_long(length: int) -> Deny:
    if length == 0:
        return unclear("length", "the query is empty.")
    return unclear(
        "length", f"the query has {length:,} characters; at most {MAX_QUERY_CHARS:,} are read.", "Shorten it."
    )


def no_statement() -> Deny:
    return unclear("empty", "the query holds no statement, only blanks, comments or semicolons.")


def too_many(count: int) -> Deny:
    return unclear(
        "statements",
        f"the query holds {count} statements; at most {MAX_STATEMENTS} run in one call.",
        "Send them in several calls.",
    )


def too_deep() -> Deny:
    return unclear(
        "nesting",
        f"the statement is nested deeper than {MAX_NESTING} levels.",
        "Flatten it, for instance with WITH … AS (…) for inner queries.",
    )


def too_entangled() -> Deny:
    return unclear(
        "parser_budget",
        "the statement takes too many steps to understand.",
        "Give every JOIN its ON or USING clause, or split the statement.",
    )


def open_transaction() -> Deny:
    return unclear(
        "transaction",
        "a transaction must begin and end within one call.",
        "Send BEGIN; …; COMMIT together in one query.",
    )


def unqualified(names: tuple[str, ...], policy: Policy) -> Deny:
    example = f" (e.g. {policy.schema}.{names[0]})" if policy.schema else ""
    return unclear(
        "unqualified_table",
        f"Unqualified table name detected: {', '.join(names)}.",
        f"Write database.table{example}.",
    )
