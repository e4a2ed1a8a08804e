"""What the guard hands back: the verdict, and what each statement was. Pure values."""

from msgspec import Struct

from callgate.model.verdict import Allow, Deny, Verdict
from callgate.sql.guard.policy import Limits

Bound = int | float | str | bool | None  # a value that the driver binds, never part of the text


class Statement(Struct, frozen=True):
    text: str  # the caller's own text, the one that will run: never regenerated
    statement_type: str  # SELECT, INSERT, PRAGMA, EXPLAIN, …
    tables: tuple[str, ...] = ()  # qualified as written, names of CTEs left out
    is_write: bool = False
    is_transaction: bool = False
    plans_write: bool = False  # EXPLAIN of a write, which does not run
    is_plain_read: bool = False  # said by `plain_reads` alone: a driver may take a shorter way with it
    parameters: tuple[Bound, ...] = ()  # in the order of the text's placeholders, in the driver's own form
    limits: Limits | None = None  # of our own schema statements; None: the policy's


class Judgement(Struct, frozen=True):
    """Of one text; what is remembered of its shape is given for others with their own text in it."""

    verdict: Verdict
    statements: tuple[Statement, ...] = ()  # as far as they were understood

    @property
    def allowed(self) -> bool:
        return isinstance(self.verdict, Allow)

    @property
    def rule(self) -> str | None:
        return self.verdict.rule if isinstance(self.verdict, Deny) else None

    @property
    def statement_type(self) -> str:
        if len(self.statements) == 1:
            return self.statements[0].statement_type
        return ", ".join(statement.statement_type for statement in self.statements) or "UNKNOWN"

    @property
    def tables(self) -> tuple[str, ...]:
        if len(self.statements) == 1 and len(tables := self.statements[0].tables) < 2:
            return tables
        return tuple(dict.fromkeys(table for statement in self.statements for table in statement.tables))
