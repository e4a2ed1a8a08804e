"""judge(sql, policy): the one door of the guard. Pure; if one statement is refused, nothing runs."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from callgate.model.verdict import Allow, Deny
from callgate.sql.guard import refusals
from callgate.sql.guard.dialect import Step, Tokens
from callgate.sql.guard.judge_statement import judge_statement
from callgate.sql.guard.judgement import Judgement, Statement
from callgate.sql.guard.plain_reads import read_plainly
from callgate.sql.guard.policy import MAX_NESTING, MAX_QUERY_CHARS, MAX_STATEMENTS, Policy
from callgate.sql.guard.tokens import Token, TokenKind, significant


@dataclass(slots=True)
class _Transaction:
    """Whether the statements so far have left a transaction open."""

    is_open: bool = False

    def follow(self, step: Step | None) -> bool:
        """Take one transaction statement; False when it cannot stand here."""
        if step is None or self.is_open == (step is Step.BEGIN):
            return False
        if step is not Step.INSIDE:
            self.is_open = step is Step.BEGIN
        return True


def judge(sql: str, policy: Policy, *, may_bind: bool = False) -> Judgement:
    """`may_bind`: placeholders are allowed, because a driver will bind values to them."""
    plain = judge_plainly(sql, policy)
    return judge_in_full(sql, policy, may_bind=may_bind) if plain is None else plain


def judge_plainly(sql: str, policy: Policy) -> Judgement | None:
    """Of a plain read that is allowed (`plain_reads`); None: judge it in full."""
    statement = read_plainly(sql, policy)
    return (
        None if statement is None or _fault_of_tables(statement, policy) else Judgement(Allow(), (statement,))
    )


def judge_in_full(
    sql: str, policy: Policy, *, may_bind: bool = False, tokens: Tokens | None = None
) -> Judgement:
    """`tokens`: all of the text, where they are known already."""
    if not 1 <= len(sql) <= MAX_QUERY_CHARS:
        return Judgement(refusals.too_long(len(sql), policy))
    if tokens is None:
        tokens = policy.dialect.lex(sql)
    if (fault := _screen(tokens, sql, policy, may_bind=may_bind)) is not None:
        return Judgement(fault)
    drafts = _split(tokens)
    if not drafts:
        return Judgement(refusals.no_statement(policy))
    if len(drafts) > MAX_STATEMENTS:
        return Judgement(refusals.too_many(len(drafts), policy))
    return _judge_all(sql, drafts, policy)


def _judge_all(sql: str, drafts: list[tuple[Token, ...]], policy: Policy) -> Judgement:
    statements: list[Statement] = []
    transaction = _Transaction()
    for number, draft in enumerate(drafts, start=1):
        text = sql[draft[0].start : draft[-1].end]
        statement, deny = judge_statement(draft, text, policy)
        statements.append(statement)
        if deny is None and statement.is_transaction:
            follows = transaction.follow(policy.dialect.grammar.transaction(draft))
            deny = None if follows else refusals.open_transaction(policy)
        if deny is None:
            deny = _fault_of_tables(statement, policy)
        if deny is not None:
            return Judgement(_counted(deny, number, len(drafts)), tuple(statements))
    if transaction.is_open:
        return Judgement(refusals.open_transaction(policy), tuple(statements))
    return Judgement(Allow(), tuple(statements))


def _screen(tokens: Sequence[Token], sql: str, policy: Policy, *, may_bind: bool) -> Deny | None:
    """What must not even reach the parser."""
    parentheses = cases = 0
    for token in tokens:
        kind = token.kind
        if kind is TokenKind.WORD:
            if token.word == "CASE":
                cases += 1
            elif token.word == "END":
                cases = max(cases - 1, 0)  # a column may be called "end": it must not buy depth elsewhere
        elif kind is TokenKind.OPERATOR:
            parentheses += (token.text == "(") - (token.text == ")")
        elif kind is TokenKind.ILLEGAL:
            return refusals.hidden_text(token, sql, policy)
        elif kind is TokenKind.VARIABLE and not may_bind:
            return refusals.placeholder(token, policy)
        if parentheses + cases > MAX_NESTING:
            return refusals.too_deep(policy)
    return None


def _split(tokens: Sequence[Token]) -> list[tuple[Token, ...]]:
    drafts: list[tuple[Token, ...]] = []
    current: list[Token] = []
    for token in significant(tokens):
        if not token.is_operator(";"):
            current.append(token)
        elif current:
            drafts.append(tuple(current))
            current = []
    if current:
        drafts.append(tuple(current))
    return drafts


def _fault_of_tables(statement: Statement, policy: Policy) -> Deny | None:
    """What the policy says of the tables that a statement names."""
    deny = _qualified(statement, policy) if policy.require_qualified else None
    return _listed(statement, policy) if deny is None and policy.only_tables else deny


def _qualified(statement: Statement, policy: Policy) -> Deny | None:
    vocabulary = policy.dialect.vocabulary
    bare = tuple(
        table
        for table in statement.tables
        if "." not in table
        and table.lower() not in vocabulary.bare_tables
        and not table.lower().startswith(vocabulary.bare_prefixes)
    )
    return refusals.unqualified(bare, policy) if bare else None


def _listed(statement: Statement, policy: Policy) -> Deny | None:
    strange = [table for table in statement.tables if table.lower() not in policy.only_tables]
    return refusals.unlisted_table(strange[0], policy) if strange else None


def _counted(deny: Deny, number: int, count: int) -> Deny:
    """Which of several statements was refused, and that the others did not run either."""
    if count == 1:
        return deny
    return replace(deny, hint=f"{deny.hint} (Statement {number} of {count}; none of them was run.)")
