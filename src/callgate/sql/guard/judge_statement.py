"""One statement: its verb decides which rules apply to it; whatever no rule lets through is refused. Pure."""

from callgate.model import error_codes as codes
from callgate.model.verdict import Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.calls import check_calls, is_hidden_name
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.verbs import Class, class_of, find_verb
from callgate.sql.policy import Policy
from callgate.sql.tokens import Token, fold

_DEFINABLE = frozenset({"TABLE", "INDEX", "VIEW"})
_TRANSACTION_WORDS = frozenset(
    {"BEGIN", "COMMIT", "END", "ROLLBACK", "SAVEPOINT", "RELEASE", "TO", "TRANSACTION"}
) | {
    *("DEFERRED", "IMMEDIATE", "EXCLUSIVE"),
}


def judge_statement(tokens: tuple[Token, ...], text: str, policy: Policy) -> tuple[Statement, Deny | None]:
    """`tokens` are the significant ones of one statement, `text` is its exact span."""
    verb = find_verb(tokens)
    if verb is None:
        return Statement(text, "UNKNOWN"), refusals.unclear("syntax", "the WITH clause is not well-formed.")
    kind = class_of(verb.word, frozenset(policy.dialect.forms))
    statement = Statement(
        text,
        verb.word if kind is not Class.UNKNOWN else "UNKNOWN",
        is_write=kind in (Class.WRITE, Class.DEFINITION),
        is_transaction=kind is Class.TRANSACTION,
    )
    # Only reads and writes may stand behind WITH or an opening parenthesis.
    if verb is not tokens[0] and kind not in (Class.READ, Class.WRITE):
        return statement, refusals.unknown_verb(verb, policy)
    match kind:
        case Class.READ | Class.WRITE:
            return _read_or_write(statement, tokens, verb, policy)
        case Class.EXPLAIN:
            return _explain(statement, tokens, policy)
        case Class.FORM:
            return statement, _form(tokens, verb, policy)
        case Class.TRANSACTION:
            return statement, _transaction(tokens, verb, policy)
        case Class.DEFINITION:
            return statement, _definition(tokens, verb, policy)
        case Class.NEVER:
            return statement, refusals.never(verb.word, policy)
        case Class.UNKNOWN:
            return statement, refusals.unknown_verb(verb, policy)


def _read_or_write(
    statement: Statement, tokens: tuple[Token, ...], verb: Token, policy: Policy
) -> tuple[Statement, Deny | None]:
    # Parsed even when it will be refused: the record wants to know which tables were aimed at.
    from callgate.sql.guard.parse import Parsed, parse_statement

    parsed = parse_statement(tokens, verb, policy.dialect.parser_name)
    if isinstance(parsed, Parsed):
        statement = Statement(
            statement.text, statement.statement_type, parsed.tables, is_write=statement.is_write
        )
    if statement.is_write and not policy.may_write:
        return statement, refusals.write_in_read_only(verb.word, policy)
    # What hides inside says more than the names it uses; any other fault less than a forbidden function.
    if not isinstance(parsed, Parsed) and parsed.rule == "forbidden_node":
        return statement, refusals.hidden_statement(parsed.detail.upper(), verb.word, policy)
    if (deny := check_calls(tokens, verb.word, policy)) is not None:
        return statement, deny
    if not isinstance(parsed, Parsed):
        return statement, _parse_refusal(parsed.rule, parsed.detail, verb, policy)
    for table in parsed.tables:
        name = fold(table.rpartition(".")[2])
        if is_hidden_name(name, policy):
            return statement, refusals.hidden_table(table)
    if parsed.target is not None and fold(parsed.target.rpartition(".")[2]).startswith("sqlite_"):
        return statement, refusals.system_table_write(parsed.target)
    return statement, None


def _parse_refusal(rule: str, detail: str, verb: Token, policy: Policy) -> Deny:
    if rule == "nesting":
        return refusals.too_deep()
    if rule == "parser_budget":
        return refusals.too_entangled()
    near = f" near {detail!r}" if detail and rule == "syntax" else ""
    return refusals.unclear(
        "syntax",
        f"the {verb.word} statement could not be understood{near}.",
        f"Check it against {policy.dialect.display_name}'s syntax.",
    )


def _explain(
    statement: Statement, tokens: tuple[Token, ...], policy: Policy
) -> tuple[Statement, Deny | None]:
    """`EXPLAIN [QUERY PLAN] <read>`. It would not run a write either, but only reads are explained."""
    words = [token.word for token in tokens[1:3]]
    inner = tokens[3:] if words == ["QUERY", "PLAN"] else tokens[1:]
    verb = find_verb(inner) if inner else None
    inner_class = class_of(verb.word, frozenset(policy.dialect.forms)) if verb is not None else Class.UNKNOWN
    if verb is None or inner_class is not Class.READ:
        shown = verb.text[:40] if verb is not None else "of nothing"
        return statement, refusals.explained(shown, is_known=inner_class is not Class.UNKNOWN)
    return _read_or_write(statement, inner, verb, policy)


def _form(tokens: tuple[Token, ...], verb: Token, policy: Policy) -> Deny | None:
    fault = policy.dialect.forms[verb.word](tokens)
    if fault is None:
        return None
    code = codes.REFUSED_FORBIDDEN if fault.is_write else codes.REFUSED_UNCLEAR
    return Deny(code, fault.rule, fault.reason, fault.hint)


def _transaction(tokens: tuple[Token, ...], verb: Token, policy: Policy) -> Deny | None:
    if not policy.may_write:
        return refusals.write_in_read_only(verb.word, policy)
    # BEGIN IMMEDIATE TRANSACTION, ROLLBACK TO SAVEPOINT name, RELEASE name: few words, one name at most.
    names = [token for token in tokens if token.word not in _TRANSACTION_WORDS]
    if len(tokens) > 5 or len(names) > 1 or any(not token.name for token in tokens):
        return refusals.unclear("transaction", f"this {verb.word} statement could not be understood.")
    return None


def _definition(tokens: tuple[Token, ...], verb: Token, policy: Policy) -> Deny | None:
    if not policy.may_define:
        return refusals.definition(verb.word, policy)
    kinds = [token.word for token in tokens[1:4] if token.word != "UNIQUE"]
    kind = kinds[0] if kinds else ""
    if kind not in _DEFINABLE or (verb.word == "ALTER" and kind != "TABLE"):
        return refusals.definition_kind(f"{verb.word} {kind}".strip())
    if verb.word == "ALTER" and any(token.word == "DROP" for token in tokens):
        return refusals.never("DROP", policy)
    return check_calls(tokens, verb.word, policy)
