"""What every session with PostgreSQL is pinned to. Pure.

The guard's lexer reads text as this session does: without standard_conforming_strings, strings end elsewhere.

Direct: said in the startup message, and read back once. A setting given there is the session's own default,
to which DISCARD ALL takes it back after each call.
Behind a pooler (PgBouncer and its like): the next transaction may run in another session. So each transaction
sets all of it for itself, and the same statement checks it: where a setting did not take, it fails, and what
comes behind it is not run.
"""

from collections.abc import Mapping

from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

# The server's own limit is the second wall: our watchdog comes first, this one holds when we are gone.
_NATIVE_MARGIN_MS = 1_000

# From version 14 on: a server that runs something looks whether its client is still there.
NOTICES_LEAVING = "client_connection_check_interval"
_LOOKS_EVERY_MS = "1000"
BEGIN = "BEGIN"
BEGIN_READ_ONLY = "BEGIN READ ONLY"
COMMIT = "COMMIT"
ROLLBACK = "ROLLBACK"
DISCARD_ALL = "DISCARD ALL"
# The server tells times with a unit of its choice: what matters is that they took.
_TIMES = ("statement_timeout", "lock_timeout")


class PinFailed(Exception):  # noqa: N818 - the opener words the error
    """The session is not what we asked for: some proxy in between answers for the server."""


def plain_parameters(address: ServerAddress) -> dict[str, str]:
    """What every pooler lets through."""
    parameters = {"user": address.user, "application_name": address.application_name}
    if address.database is not None:
        parameters["database"] = address.database
    if address.options is not None:
        parameters["options"] = address.options
    return parameters


def startup_parameters(
    address: ServerAddress, policy: Policy, *, notices_leaving: bool = True
) -> dict[str, str]:
    """`notices_leaving`: the server ends what it runs for a client that is gone, be it that we were killed or
    that a cancel reached another server behind the same address. PostgreSQL has it from version 14 on."""
    noticing = {NOTICES_LEAVING: _LOOKS_EVERY_MS} if notices_leaving else {}
    return plain_parameters(address) | pins_of(policy) | noticing


def pin_transaction_sql(policy: Policy, *, notices_leaving: bool) -> str:
    """Sets the pins for this transaction, and divides by zero unless each of them took."""
    checks = [
        f"pg_catalog.set_config('{name}', '{value}', true)"
        + (" IS NOT NULL" if name in _TIMES else f" LIKE '{value}%'")
        for name, value in pins_of(policy).items()
    ]
    if notices_leaving:
        checks.append(f"pg_catalog.set_config('{NOTICES_LEAVING}', '{_LOOKS_EVERY_MS}', true) IS NOT NULL")
    if not policy.may_write:
        checks.append("pg_catalog.current_setting('transaction_read_only') = 'on'")
    return f"SELECT 1 / (CASE WHEN {' AND '.join(checks)} THEN 1 ELSE 0 END)"


def pins_of(policy: Policy) -> dict[str, str]:
    timeout_ms = round(policy.limits.timeout_s * 1000)
    return {
        "client_encoding": "UTF8",
        "standard_conforming_strings": "on",
        "backslash_quote": "safe_encoding",
        "transform_null_equals": "off",
        "default_transaction_read_only": "off" if policy.may_write else "on",
        "statement_timeout": str(timeout_ms + _NATIVE_MARGIN_MS),
        # A caller had better hear of a lock than of a time-out, which would not say why.
        "lock_timeout": str(max(timeout_ms // 2, 1)),
        # How values are written: dates that sort, blobs in hexadecimal, floats with all their digits.
        "DateStyle": "ISO",
        "bytea_output": "hex",
        "extra_float_digits": "3",
    }


def read_back_sql(pins: Mapping[str, str]) -> str:
    """In pg_settings a time is a number of milliseconds, whatever unit it is shown in."""
    names = ", ".join(f"'{name.lower()}'" for name in pins)
    return f"SELECT lower(name), setting FROM pg_catalog.pg_settings WHERE lower(name) IN ({names})"  # noqa: S608 - our own words


def check_pins(pins: Mapping[str, str], rows: list[tuple[object, ...]]) -> None:
    found = {str(row[0]): str(row[1]) for row in rows}
    for name, value in pins.items():
        # DateStyle is told with the order of day and month behind it.
        if found.get(name.lower(), "").partition(",")[0] != value:
            raise PinFailed(name)
