"""Verdicts: the guard's judgements of one policy, remembered by the shape of the text (`guard.shapes`).

A judgement depends on shape and policy alone. What was remembered is given for a new text with the new
text's own statement in it, never the old one's.
"""

from collections import OrderedDict
from dataclasses import dataclass, replace
from threading import Lock

from callgate.sql.guard.dialect import VerbClass
from callgate.sql.guard.judge import judge
from callgate.sql.guard.judgement import Judgement
from callgate.sql.guard.policy import MAX_QUERY_CHARS, Policy
from callgate.sql.guard.shapes import is_shape_of, shape_of
from callgate.sql.guard.tokens import significant
from callgate.sql.guard.verbs import class_of

# Of 10,000 characters at most: under 10 MB.
_REMEMBERED = 256
_SHAPED = (VerbClass.READ, VerbClass.WRITE)


@dataclass(frozen=True, slots=True)
class _Remembered:
    """A judgement, and where its only statement stands: so many characters before it, so many behind."""

    judgement: Judgement
    before: int
    behind: int

    def of(self, sql: str) -> Judgement:
        statement = replace(self.judgement.statements[0], text=sql[self.before : len(sql) - self.behind])
        return Judgement(self.judgement.verdict, (statement,))


class Verdicts:
    """May be used by several threads."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._quotes = policy.dialect.quotes
        # By shape, or by the whole text where it has none; the last one used stands at the end.
        self._known: OrderedDict[str, _Remembered | Judgement] = OrderedDict()
        self._lock = Lock()

    def remembered(self, sql: str) -> Judgement | None:
        if (key := self._key(sql)) is None:
            return None
        found = self._find(key) or self._find(sql)
        return found.of(sql) if isinstance(found, _Remembered) else found

    def judged(self, sql: str) -> Judgement:
        known = self.remembered(sql)
        return self.judge(sql) if known is None else known

    def judge(self, sql: str) -> Judgement:
        """Of a text for which nothing is remembered."""
        judgement = judge(sql, self._policy)
        if (key := self._key(sql)) is not None:
            shaped = self._shaped(sql, judgement) if key != sql else None
            self._remember(*((sql, judgement) if shaped is None else (key, shaped)))
        return judgement

    def _key(self, sql: str) -> str | None:
        """The shape, or the text when no value in it may be any. None: nothing is ever known of this text."""
        return shape_of(sql, self._quotes) if len(sql) <= MAX_QUERY_CHARS else None

    def _shaped(self, sql: str, judgement: Judgement) -> _Remembered | None:
        """None: what was judged is no judgement of the shape."""
        dialect = self._policy.dialect
        if len(judgement.statements) != 1:
            return None
        statement = judgement.statements[0]
        if class_of(statement.statement_type, dialect.grammar) not in _SHAPED:
            return None
        tokens = dialect.lex(sql)
        if not is_shape_of(sql, tokens, self._quotes):
            return None
        read = [token for token in significant(tokens) if not token.is_operator(";")]
        before, end = read[0].start, read[-1].end
        is_alone = sql[before:end] == statement.text  # and there is no second one, which was not judged
        return _Remembered(judgement, before, len(sql) - end) if is_alone else None

    def _find(self, key: str) -> _Remembered | Judgement | None:
        with self._lock:
            found = self._known.get(key)
            if found is not None:
                self._known.move_to_end(key)
            return found

    def _remember(self, key: str, judgement: _Remembered | Judgement) -> None:
        with self._lock:
            self._known[key] = judgement
            if len(self._known) > _REMEMBERED:
                self._known.popitem(last=False)
