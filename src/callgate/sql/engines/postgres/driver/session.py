"""What every session with PostgreSQL is pinned to: said in the startup message, and read back once. Pure.

A setting given there is the session's own default, to which DISCARD ALL takes it back after each call. The
guard's lexer reads text as this session does: without standard_conforming_strings, strings end elsewhere.
"""

from collections.abc import Mapping

from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

# The server's own limit is the second wall: our watchdog comes first, this one holds when we are gone.
_NATIVE_MARGIN_MS = 1_000

BEGIN_READ_ONLY = "BEGIN READ ONLY"
ROLLBACK = "ROLLBACK"
DISCARD_ALL = "DISCARD ALL"


class PinFailed(Exception):  # noqa: N818 - the opener words the error
    """The session is not what we asked for: some proxy in between answers for the server."""


def startup_parameters(address: ServerAddress, policy: Policy) -> dict[str, str]:
    parameters = {"user": address.user, "application_name": address.application_name, **pins_of(policy)}
    if address.database is not None:
        parameters["database"] = address.database
    return parameters


def pins_of(policy: Policy) -> Mapping[str, str]:
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
