"""The statements of MySQL and MariaDB: verbs and transactions. Pure.

Reads and writes: `checks` (tokens) and `spelling` (for the parser). SHOW, DESCRIBE, EXPLAIN: `show`. CREATE
and ALTER: `definitions`.
"""

from types import MappingProxyType

from callgate.sql.engines.mysql.dialect import checks, definitions, show, spelling
from callgate.sql.guard.dialect import COMMON_VERBS, Grammar, VerbClass
from callgate.sql.guard.phrases import TransactionPhrases
from callgate.sql.guard.tokens import word_set

_NEVER = word_set(
    """
    backup binlog cache change check checksum clone deallocate declare delimiter do execute get handler
    import install kill optimize prepare purge rename repair reset resignal restart shutdown signal source
    stop system uninstall unlock xa
    """
)

_TRANSACTION = TransactionPhrases(
    begin=(
        "BEGIN [WORK]",
        "START TRANSACTION [WITH CONSISTENT SNAPSHOT [, READ WRITE | , READ ONLY] | READ WRITE | READ ONLY]",
    ),
    end=("COMMIT [WORK] [AND NO CHAIN] [NO RELEASE]", "ROLLBACK [WORK] [AND NO CHAIN] [NO RELEASE]"),
    inside=("SAVEPOINT name", "RELEASE SAVEPOINT name", "ROLLBACK [WORK] TO [SAVEPOINT] name"),
)


GRAMMAR = Grammar(
    verbs=MappingProxyType(
        {
            **COMMON_VERBS,
            **dict.fromkeys((word.upper() for word in _NEVER), VerbClass.NEVER),
            "TABLE": VerbClass.READ,
            "REPLACE": VerbClass.WRITE,
            "START": VerbClass.TRANSACTION,
        }
    ),
    forms=MappingProxyType(
        {
            "SHOW": show.show,
            "DESCRIBE": show.describe,
            "DESC": show.describe,
            "EXPLAIN": show.describe,
            "ANALYZE": show.analyze,
        }
    ),
    canonical=spelling.canonical,
    transaction=_TRANSACTION.step,
    definition=definitions.definition,
    check_tokens=checks.check_tokens,
    called=checks.called,
    names_columns=checks.names_columns,
    locks_in_write_mode=True,
)
