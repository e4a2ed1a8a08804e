"""What every session with MySQL or MariaDB is pinned to, said before each call and read back once. Pure.

The guard's lexer reads text as this session does: had the server's sql_mode ANSI_QUOTES or
NO_BACKSLASH_ESCAPES, a string would end elsewhere for it than for the guard. COM_RESET_CONNECTION takes a
session back to the server's own defaults, so the pins are said again after each.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from callgate.sql.guard.policy import Policy
from callgate.sql.guard.tokens import word_set

# Modes that change what data is accepted or how a result is computed are the operator's affair. All others
# change how text is read (ANSI_QUOTES, NO_BACKSLASH_ESCAPES, PIPES_AS_CONCAT, IGNORE_SPACE, ORACLE, …) and
# are left out, also those of servers not yet written.
_KEPT_MODES = word_set(
    """STRICT_TRANS_TABLES STRICT_ALL_TABLES ONLY_FULL_GROUP_BY ERROR_FOR_DIVISION_BY_ZERO NO_ZERO_DATE
    NO_ZERO_IN_DATE NO_ENGINE_SUBSTITUTION NO_AUTO_VALUE_ON_ZERO NO_UNSIGNED_SUBTRACTION ALLOW_INVALID_DATES
    PAD_CHAR_TO_FULL_LENGTH TIME_TRUNCATE_FRACTIONAL TIME_ROUND_FRACTIONAL"""
)
# The server's own limit is the second wall: our watchdog comes first, this one holds when we are gone.
_NATIVE_MARGIN_S = 1.0

BEGIN_READ_ONLY = "START TRANSACTION READ ONLY"
# For EXPLAIN of a write, which MySQL and MariaDB refuse in a read-only transaction though nothing runs.
BEGIN_PLAN = "START TRANSACTION READ WRITE"
STAY_READ_ONLY = "SET SESSION TRANSACTION READ ONLY"
# Aurora takes one command at a time: what comes behind it in the same segment is lost there (says MariaDB's
# documentation of its Java connector, which stops pipelining for the same reason).
AURORA_SQL = "SHOW VARIABLES LIKE 'aurora_version'"
# Behind a proxy the greeting's number is the proxy's own: KILL needs the one that the server knows.
READ_MODES_SQL = "SELECT @@session.sql_mode, CONNECTION_ID()"


class PinFailed(Exception):  # noqa: N818 - the opener words the error
    """The session is not what we asked for: some proxy in between answers for the server."""


@dataclass(frozen=True, slots=True)
class Pins:
    """The session's variables as they must be."""

    variables: Mapping[str, str | int | float]

    @property
    def set_sql(self) -> str:
        settings = [f"{name} = {_literal(value)}" for name, value in self.variables.items()]
        return "SET NAMES utf8mb4, " + ", ".join(f"SESSION {setting}" for setting in settings)

    @property
    def read_back_sql(self) -> str:
        names = [*self.variables, *_CHARSETS]
        return "SELECT " + ", ".join(f"@@session.{name}" for name in names)

    def check(self, row: tuple[object, ...]) -> None:
        expected = [*self.variables.items(), *((name, "utf8mb4") for name in _CHARSETS)]
        for (name, value), found in zip(expected, row, strict=True):
            same = float(str(found)) == float(value) if isinstance(value, (int, float)) else found == value
            if not same:
                raise PinFailed(name)


_CHARSETS = ("character_set_client", "character_set_connection", "character_set_results")


def pins_of(
    policy: Policy, *, is_mariadb: bool, version: tuple[int, int], server_modes: str, tracks_state: bool
) -> Pins:
    timeout_s = policy.limits.timeout_s
    # A caller had better hear of a lock than of a time-out, which would not say why.
    lock_wait_s = max(int(timeout_s / 2), 1)
    modes = [mode for mode in server_modes.split(",") if mode in _KEPT_MODES]
    variables: dict[str, str | int | float] = {
        "sql_mode": ",".join(modes),
        "autocommit": 1,
        _read_only_variable(is_mariadb=is_mariadb, version=version): int(not policy.may_write),
        "lock_wait_timeout": lock_wait_s,
        "innodb_lock_wait_timeout": lock_wait_s,
    }
    if tracks_state:
        # That anything was changed is enough: not which variable, and to what. A function of a view could
        # silence the first tracker and then change the session, so each of the first two watches over the
        # other one. `SET TRANSACTION READ WRITE` changes no variable: only the third one tells.
        variables |= {
            "session_track_state_change": 1,
            "session_track_system_variables": "session_track_state_change",
            "session_track_transaction_info": "CHARACTERISTICS",
        }
    if is_mariadb:
        variables["max_statement_time"] = timeout_s + _NATIVE_MARGIN_S
    else:
        variables["max_execution_time"] = round((timeout_s + _NATIVE_MARGIN_S) * 1000)
    return Pins(variables)


def _read_only_variable(*, is_mariadb: bool, version: tuple[int, int]) -> str:
    """The old name where there is no other: MySQL has a new one from 5.7 on, MariaDB from 11.1."""
    return "tx_read_only" if is_mariadb and version < (11, 1) else "transaction_read_only"


def _literal(value: str | float) -> str:
    # Only our own words and numbers come here: mode names from the list above.
    return (
        f"'{value}'" if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)
    )
