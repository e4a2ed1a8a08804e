"""The sentences of a refusal: rule, what was found, what to do instead; in the seed's words if any."""

from callgate.model import error_codes as codes
from callgate.model.verdict import Deny
from callgate.sql.guard.dialect import Fault
from callgate.sql.guard.policy import MAX_NESTING, MAX_QUERY_CHARS, MAX_STATEMENTS, Policy
from callgate.sql.guard.tokens import Token, line_and_column

_DANGEROUS = frozenset({"DROP", "TRUNCATE"})


def of_fault(fault: Fault) -> Deny:
    """What one of the dialect's own checks found."""
    code = codes.REFUSED_FORBIDDEN if fault.is_forbidden else codes.REFUSED_UNCLEAR
    return Deny(code, fault.rule, fault.reason, fault.hint)


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
            reason = f"{verb} operations are dangerous and blocked even in WRITE mode."
        hint = f"Use {policy.dialect.display_name} CLI directly for destructive DDL operations."
        return Deny(codes.REFUSED_FORBIDDEN, "never", reason, hint)
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "never",
        f"Administrative commands ({verb}) are never allowed{' for security' if policy.may_write else ''}.",
        policy.dialect.wording.read_hint,
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


def function(name: str, policy: Policy) -> Deny:
    if name in policy.dialect.vocabulary.forbidden_functions:
        return Deny(
            codes.REFUSED_FORBIDDEN,
            "forbidden_function",
            f"the function {name}() reaches outside the database and is never allowed.",
            "Leave it out.",
        )
    if name.endswith(" "):
        bare = name.strip().upper()
        return Deny(
            codes.REFUSED_FUNCTION,
            "function",
            f"with a space before the parenthesis, {bare} calls a stored function of that name.",
            f"Write {bare}( without the space.",
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
        f"the second argument of {name}() must be a short text, written as a constant.",
        hint,
    )


def size(name: str, most: int, policy: Policy) -> Deny:
    return Deny(
        codes.REFUSED_FUNCTION,
        "size",
        f"the size of what {name}() makes must be a constant up to {most:,}, or bounded in the query.",
        f"Write the number, or bound it: {policy.dialect.wording.smallest_of}(n, 100). "
        "Write a format as a constant, in 'single quotes'.",
    )


def sizes_together(most: int) -> Deny:
    return Deny(
        codes.REFUSED_FUNCTION,
        "size",
        f"nested functions would make more than {most:,} times their input.",
        "Use smaller counts, or fewer of these functions inside one another.",
    )


def hidden_table(name: str, policy: Policy) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "hidden_table",
        f"{name} shows the engine's internals and is never readable here.",
        policy.dialect.wording.hidden_hint,
    )


def unlisted_table(name: str, policy: Policy) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "unlisted_table",
        f"there is no table {name[:100]!r} here; the tables are {', '.join(sorted(policy.only_tables))}.",
        "Read those tables only.",
    )


def system_table_write(name: str) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "system_table",
        f"{name} belongs to the engine and is never written to.",
        "Write to ordinary tables only.",
    )


def unclear(rule: str, reason: str, policy: Policy, hint: str = "") -> Deny:
    return Deny(codes.REFUSED_UNCLEAR, rule, reason, hint or policy.dialect.wording.read_hint)


def unknown_verb(token: Token, policy: Policy) -> Deny:
    shown = token.text[:40]
    advice = policy.dialect.wording.foreign_verbs.get(token.word)
    if advice is not None:
        advice = advice.format(master=policy.table_list)
        reason = f"{shown} does not begin a statement that is supported here."
        return unclear("unknown_statement", reason, policy, advice)
    reason = f"{shown!r} does not begin a statement that is supported here."
    return unclear("unknown_statement", reason, policy)


def hidden_text(token: Token, text: str, policy: Policy) -> Deny:
    line, column = line_and_column(text, token.start)
    return unclear(
        "lexer",
        f"{token.fault} (line {line}, column {column}).",
        policy,
        "Remove or close it; plain spaces and quoted texts are fine.",
    )


def hidden_statement(kind: str, verb: str, policy: Policy) -> Deny:
    """A statement inside another one, such as a data-modifying CTE."""
    if kind in ("INSERT", "UPDATE", "DELETE") and not policy.may_write:
        return write_in_read_only(kind, policy)
    if kind == "LOCK":
        reason = "a SELECT that locks rows is not allowed in READ-ONLY mode."
        return Deny(codes.REFUSED_FORBIDDEN, "lock", reason, "Leave FOR UPDATE or FOR SHARE out.")
    return Deny(
        codes.REFUSED_FORBIDDEN,
        "hidden_statement",
        f"{kind} is not allowed inside a {verb} statement.",
        "Send it as a statement of its own, or leave it out.",
    )


def explained(outer: str, verb: str, policy: Policy, *, is_known: bool) -> Deny:
    return Deny(
        codes.REFUSED_FORBIDDEN if is_known else codes.REFUSED_UNCLEAR,
        "explain",
        f"{outer} {verb} is not allowed.",
        policy.dialect.wording.explain_hint,
    )


def placeholder(token: Token, policy: Policy) -> Deny:
    return unclear(
        "placeholder",
        f"the placeholder {token.text[:40]} has no value here.",
        policy,
        "Write the value itself into the query, texts in 'single quotes'.",
    )


def too_long(length: int, policy: Policy) -> Deny:
    if length == 0:
        return unclear("length", "the query is empty.", policy)
    reason = f"the query has {length:,} characters; at most {MAX_QUERY_CHARS:,} are read."
    return unclear("length", reason, policy, "Shorten it.")


def no_statement(policy: Policy) -> Deny:
    return unclear("empty", "the query has no statement, only spaces, comments or semicolons.", policy)


def too_many(count: int, policy: Policy) -> Deny:
    return unclear(
        "statements",
        f"the query holds {count} statements; at most {MAX_STATEMENTS} run in one call.",
        policy,
        "Send them in several calls.",
    )


def too_deep(policy: Policy) -> Deny:
    return unclear(
        "nesting",
        f"the statement is nested deeper than {MAX_NESTING} levels.",
        policy,
        "Flatten it, for instance with WITH … AS (…) for inner queries.",
    )


def too_entangled(policy: Policy) -> Deny:
    return unclear(
        "parser_budget",
        "the statement takes too many steps to understand.",
        policy,
        "Give every JOIN its ON or USING clause, or split the statement.",
    )


def open_transaction(policy: Policy) -> Deny:
    return unclear(
        "transaction",
        "a transaction must begin and end within one call.",
        policy,
        "Send BEGIN; …; COMMIT together in one query.",
    )


def unqualified(names: tuple[str, ...], policy: Policy) -> Deny:
    example = f" (e.g. {policy.schema}.{names[0]})" if policy.schema else ""
    return unclear(
        "unqualified_table",
        f"Unqualified table name detected: {', '.join(names)}.",
        policy,
        f"Write database.table{example}.",
    )
