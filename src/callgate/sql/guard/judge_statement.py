"""One statement: its verb decides which rules apply to it; whatever no rule lets through is refused. Pure."""

from msgspec.structs import replace

from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.calls import check_calls, hidden_in
from callgate.sql.guard.dialect import Fault, Tokens, VerbClass
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.guard.shapes import without_values
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import class_of, find_verb, skip_group

Verdict = tuple[Statement, Deny | None]
_NAMES = (TokenKind.WORD, TokenKind.QUOTED, TokenKind.STRING)
_BEGINNINGS = frozenset({"SELECT", "WITH", "VALUES", "TABLE", "FROM"})
# Behind the query, and no part of it.
_TAILS = (
    ("WITH", "CHECK", "OPTION"),
    ("WITH", "CASCADED", "CHECK", "OPTION"),
    ("WITH", "LOCAL", "CHECK", "OPTION"),
    ("WITH", "DATA"),
    ("WITH", "NO", "DATA"),
)


def judge_statement(tokens: Tokens, text: str, policy: Policy) -> Verdict:
    """`tokens` are the significant ones of one statement, `text` is its exact span."""
    verb = find_verb(tokens)
    if verb is None:
        return Statement(text, "UNKNOWN"), refusals.unclear(
            "syntax", "the WITH clause is not well-formed.", policy
        )
    kind = class_of(verb.word, policy.dialect.grammar)
    statement = Statement(
        text,
        verb.word if kind is not VerbClass.UNKNOWN else "UNKNOWN",
        is_write=kind in (VerbClass.WRITE, VerbClass.DEFINITION),
        is_transaction=kind is VerbClass.TRANSACTION,
    )
    # Only reads and writes may stand behind WITH or an opening parenthesis.
    if verb is not tokens[0] and kind not in (VerbClass.READ, VerbClass.WRITE):
        return statement, refusals.unknown_verb(verb, policy)
    match kind:
        case VerbClass.READ | VerbClass.WRITE:
            return _read_or_write(statement, tokens, verb, policy)
        case VerbClass.FORM:
            return _form(statement, tokens, verb, policy)
        case VerbClass.TRANSACTION:
            return statement, _transaction(tokens, verb, policy)
        case VerbClass.DEFINITION:
            return _definition(statement, tokens, verb, policy)
        case VerbClass.NEVER:
            return statement, refusals.never(verb.word, policy)
        case VerbClass.UNKNOWN:
            return statement, refusals.unknown_verb(verb, policy)


def _read_or_write(
    statement: Statement, tokens: Tokens, verb: Token, policy: Policy, *, runs: bool = True
) -> Verdict:
    # Parsed even when it will be refused: the record wants to know which tables were aimed at.
    from callgate.sql.guard.parse import ParsedStatement, parse_statement

    is_write = class_of(verb.word, policy.dialect.grammar) is VerbClass.WRITE
    tokens = without_values(tokens, policy.dialect.vocabulary.valued_names)
    parsed = parse_statement(tokens, verb, policy)
    if isinstance(parsed, ParsedStatement):
        statement = replace(
            statement,
            tables=(*statement.tables, *parsed.tables),
            is_write=statement.is_write or (runs and bool(parsed.targets)),  # a write may hide in a WITH
        )
    if is_write and runs and not policy.may_write:
        return statement, refusals.write_in_read_only(verb.word, policy)
    # What hides inside says more than the names it uses; any other fault less than a forbidden function.
    if isinstance(parsed, Fault):
        return statement, refusals.of_fault(parsed)
    if not isinstance(parsed, ParsedStatement) and parsed.rule == "forbidden_node":
        return statement, refusals.hidden_statement(parsed.detail.upper(), verb.word, policy)
    if (deny := _check_tokens(tokens, verb, policy)) is not None:
        return statement, deny
    if not isinstance(parsed, ParsedStatement):
        return statement, _parse_refusal(parsed.rule, parsed.detail, verb, policy)
    return statement, _check_tables(parsed.tables, parsed.targets, policy)


def _check_tokens(tokens: Tokens, verb: Token, policy: Policy) -> Deny | None:
    fault = policy.dialect.grammar.check_tokens(tokens, verb.word, may_write=policy.may_write)
    if fault is None:
        fault = policy.dialect.grammar.check_names(tokens, policy.functions, policy.own_types)
    if fault is not None:
        return refusals.of_fault(fault)
    return check_calls(tokens, verb.word, policy)


def _check_tables(tables: tuple[str, ...], targets: tuple[str, ...], policy: Policy) -> Deny | None:
    """The tokens were searched for hidden names already; this is the parser's view of the same."""
    vocabulary = policy.dialect.vocabulary
    for table in tables:
        if table.lower() in vocabulary.partly_hidden:
            continue  # its columns were looked at
        schema, _, name = table.lower().rpartition(".")
        if hidden_in(schema.rpartition(".")[2] or (policy.schema or "").lower(), name, policy):
            return refusals.hidden_table(table, policy)
    for target in targets:
        schema, _, name = target.lower().rpartition(".")
        if name.startswith(vocabulary.system_prefixes) or (
            schema.rpartition(".")[2] in vocabulary.system_schemas
        ):
            return refusals.system_table_write(target)
    return None


def _parse_refusal(rule: str, detail: str, verb: Token, policy: Policy) -> Deny:
    if rule == "nesting":
        return refusals.too_deep(policy)
    if rule == "parser_budget":
        return refusals.too_entangled(policy)
    near = f" near {detail!r}" if detail and rule == "syntax" else ""
    return refusals.unclear(
        "syntax",
        f"the {verb.word} statement could not be understood{near}.",
        policy,
        f"Check it against {policy.dialect.display_name}'s syntax.",
    )


def _form(statement: Statement, tokens: Tokens, verb: Token, policy: Policy) -> Verdict:
    """A small grammar of the dialect's reads it; what stands inside is judged like any other statement."""
    grammar = policy.dialect.grammar
    outcome = grammar.forms[verb.word](tokens)
    if isinstance(outcome, Fault):
        return statement, refusals.of_fault(outcome)
    statement = replace(statement, tables=outcome.tables)
    for inner in (*outcome.reads, *outcome.explained):
        runs = inner in outcome.reads
        allowed = (VerbClass.READ,) if runs else (VerbClass.READ, VerbClass.WRITE)
        inner_verb = find_verb(inner)
        kind = class_of(inner_verb.word, grammar) if inner_verb is not None else VerbClass.UNKNOWN
        if inner_verb is None or kind not in allowed:
            shown = inner_verb.text[:40] if inner_verb is not None else "without a statement"
            return statement, refusals.explained(
                verb.word, shown, policy, is_known=kind is not VerbClass.UNKNOWN
            )
        if kind is VerbClass.WRITE:
            statement = replace(statement, plans_write=True)
        statement, deny = _read_or_write(statement, inner, inner_verb, policy, runs=runs)
        if deny is not None:
            return statement, deny
    return statement, None


def _transaction(tokens: Tokens, verb: Token, policy: Policy) -> Deny | None:
    if policy.dialect.grammar.transaction(tokens) is None:
        return refusals.unclear("transaction", f"this {verb.word} statement could not be understood.", policy)
    return None if policy.may_write else refusals.write_in_read_only(verb.word, policy)


def _definition(statement: Statement, tokens: Tokens, verb: Token, policy: Policy) -> Verdict:
    target = _defined_table(tokens)
    statement = replace(statement, tables=(target,) if target else ())
    if not policy.may_define:
        return statement, refusals.definition(verb.word, policy)
    fault = policy.dialect.grammar.definition(tokens)
    if fault is not None:
        return statement, refusals.of_fault(fault)
    if (deny := check_calls(tokens, verb.word, policy)) is not None:
        return statement, deny
    query = _inner_query(tokens)
    if not query:
        return statement, None
    query_verb = find_verb(query)
    if query_verb is None or class_of(query_verb.word, policy.dialect.grammar) is not VerbClass.READ:
        shown = query_verb.text[:40].upper() if query_verb is not None else "this"
        return statement, refusals.hidden_statement(shown, verb.word, policy)
    return _read_or_write(statement, query, query_verb, policy)


def _defined_table(tokens: Tokens) -> str | None:
    """The table or view that is made, changed or indexed, as written."""
    is_index = any(token.word == "INDEX" for token in tokens[1:3])
    words = ("ON",) if is_index else ("TABLE", "VIEW")
    at = next((at for at, token in enumerate(tokens) if token.word in words), len(tokens)) + 1
    while at < len(tokens) and tokens[at].word in ("IF", "NOT", "EXISTS", "ONLY"):
        at += 1
    parts: list[str] = []
    while at < len(tokens) and tokens[at].kind in _NAMES:
        parts.append(tokens[at].spelled)
        if at + 1 >= len(tokens) or not tokens[at + 1].is_operator("."):
            break
        at += 2
    return ".".join(parts) or None


def _inner_query(tokens: Tokens) -> Tokens:
    """The query that fills a table or makes up a view; empty when there is none."""
    at = 0
    while at < len(tokens):
        begins = at + 1
        while tokens[at].word == "AS" and begins < len(tokens) and tokens[begins].is_operator("("):
            begins += 1
        if tokens[at].word == "AS" and begins < len(tokens) and tokens[begins].word in _BEGINNINGS:
            return _without_tail(tokens[at + 1 :])
        if tokens[at].word == "SELECT":  # MySQL needs no AS before it
            return _without_tail(tokens[at:])
        at = max(at + 1, skip_group(tokens, at))
    return ()


def _without_tail(tokens: Tokens) -> Tokens:
    for tail in _TAILS:
        if tuple(token.word for token in tokens[-len(tail) :]) == tail:
            return tokens[: -len(tail)]
    return tokens
