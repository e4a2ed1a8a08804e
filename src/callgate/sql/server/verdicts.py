"""Verdicts: the guard's judgements of one policy, remembered by the shape of the text (`guard.shapes`).

A judgement depends on shape and policy alone. What was remembered is given for a new text with the new
text's own statement in it, never the old one's.
"""

from collections import OrderedDict
from dataclasses import dataclass
from threading import Lock

from callgate.sql.guard.dialect import Tokens, VerbClass
from callgate.sql.guard.judge import judge_in_full, judge_plainly
from callgate.sql.guard.judgement import Judgement, Statement
from callgate.sql.guard.plain_reads import MOST_CHARS, has_plain_shape
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
        known = self.judgement.statements[0]
        statement = Statement(
            sql[self.before : len(sql) - self.behind],
            known.statement_type,
            known.tables,
            known.is_write,
            known.is_transaction,
            is_plain_read=known.is_plain_read,
        )
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
        found = self._find(key)
        if found is None and key != sql:
            found = self._find(sql)
        return found.of(sql) if isinstance(found, _Remembered) else found

    def judged(self, sql: str) -> Judgement:
        known = self.remembered(sql)
        return self.judge(sql) if known is None else known

    def judge(self, sql: str) -> Judgement:
        """Of a text for which nothing is remembered."""
        return self.judge_plainly(sql) or self.judge_in_full(sql)

    def judge_plainly(self, sql: str) -> Judgement | None:
        """In some 50 µs, without the parser. None: it must be judged in full."""
        judgement = judge_plainly(sql, self._policy)
        if judgement is not None and (key := self._key(sql)) is not None:
            is_shaped = key != sql and has_plain_shape(sql, key)
            self._keep(sql, judgement, key, sql.index(judgement.statements[0].text) if is_shaped else None)
        return judgement

    def judge_in_full(self, sql: str) -> Judgement:
        if (key := self._key(sql)) is None:
            return judge_in_full(sql, self._policy)
        tokens = self._policy.dialect.lex(sql)
        judgement = judge_in_full(sql, self._policy, tokens=tokens)
        self._keep(sql, judgement, key, self._begin(sql, tokens, judgement) if key != sql else None)
        return judgement

    def _keep(self, sql: str, judgement: Judgement, key: str, begin: int | None) -> None:
        """`begin`: where the only statement begins; None: it is no judgement of the shape."""
        if begin is None:
            self._remember(sql, judgement)
        else:
            behind = len(sql) - begin - len(judgement.statements[0].text)
            self._remember(key, _Remembered(judgement, begin, behind))

    def _key(self, sql: str) -> str | None:
        """The shape, or the text when no value in it may be any. None: nothing is ever known of this text.

        A long text is no plain read, and a short one of its shape may be: each is remembered for itself. No
        shape begins with a mark.
        """
        if len(sql) > MAX_QUERY_CHARS:
            return None
        key = shape_of(sql, self._quotes)
        return key if len(sql) <= MOST_CHARS or key in (None, sql) else f"\0{key}"

    def _begin(self, sql: str, tokens: Tokens, judgement: Judgement) -> int | None:
        """Where the only statement begins. None: what was judged is no judgement of the shape."""
        dialect = self._policy.dialect
        if len(judgement.statements) != 1:
            return None
        statement = judgement.statements[0]
        if class_of(statement.statement_type, dialect.grammar) not in _SHAPED:
            return None
        if not is_shape_of(sql, tokens, self._quotes, dialect.vocabulary.valued_names):
            return None
        read = [token for token in significant(tokens) if not token.is_operator(";")]
        is_alone = (
            sql[read[0].start : read[-1].end] == statement.text
        )  # and no second one, which was not judged
        return read[0].start if is_alone else None

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
