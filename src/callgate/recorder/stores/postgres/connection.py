"""The record's PostgreSQL, and what is wrong with it in words for the operator.

The only place that sees the address. No sentence made here holds more of it than hosts, database and user.
"""

from dataclasses import dataclass, field

from callgate.model.error_codes import SETUP_STORE_SCHEMA, SETUP_STORE_UNREACHABLE, ErrorCode
from callgate.model.errors import SetupError
from callgate.ports.record_store import StoreBusyError
from callgate.postgres_connection import Connection, connect_to, driver, pg, said
from callgate.recorder.trouble import TRIES_AGAIN


@dataclass(frozen=True, slots=True)
class StoreAddress:
    dsn: str = field(repr=False)  # with its password
    shown: str  # hosts and database
    # The same for a user who may read the four views and nothing else: SQL of users runs in its sessions.
    reader_dsn: str | None = field(default=None, repr=False)


async def connect(address: StoreAddress) -> Connection:
    """Raises FAILURES."""
    return await connect_to(address.dsn)


_ACCESS = "Check user, password and database in [record] store, and the server's pg_hba.conf"
_RIGHTS = (
    "Let the record's user create in this database and own its schemas; or run callgate record migrate "
    "--grant with its name, as who owns them"
)
_HINTS: tuple[tuple[tuple[type[Exception], ...], ErrorCode, str], ...] = (
    (
        (pg.InvalidAuthorizationSpecificationError, pg.InvalidCatalogNameError),
        SETUP_STORE_UNREACHABLE,
        _ACCESS,
    ),
    ((pg.InsufficientPrivilegeError,), SETUP_STORE_SCHEMA, _RIGHTS),
    (
        (pg.UndefinedTableError, pg.UndefinedColumnError, pg.InvalidSchemaNameError, pg.UndefinedObjectError),
        SETUP_STORE_SCHEMA,
        "The record's tables were changed. Put them back; or drop both schemas: they are created again",
    ),
    (
        (pg.ProtocolViolationError,),
        SETUP_STORE_UNREACHABLE,
        "It seems to be a pooler. Check user, password and database in [record] store, and in its own lists",
    ),
    ((pg.DiskFullError,), SETUP_STORE_UNREACHABLE, "Make room on the database's disk"),
    (
        (pg.TooManyConnectionsError,),
        SETUP_STORE_UNREACHABLE,
        "Raise max_connections, or put a pooler in front of it",
    ),
    (
        (pg.ReadOnlySQLTransactionError,),
        SETUP_STORE_UNREACHABLE,
        "It is a standby. Name all servers, and add ?target_session_attrs=read-write to [record] store",
    ),
)


def trouble_of(address: StoreAddress, problem: Exception) -> SetupError:
    """`problem`: one of FAILURES, or StoreBusyError."""
    code, hint = SETUP_STORE_UNREACHABLE, ""
    if isinstance(problem, StoreBusyError):
        text = f"The record's store at {address.shown} is busy with what waited elsewhere: no place is free"
        return SetupError(code, text, hint=TRIES_AGAIN)
    if isinstance(problem, driver.PostgresError):
        found = next((found for found in _HINTS if isinstance(problem, found[0])), None)
        if found is not None:
            code, hint = found[1], f"{found[2]}. "
    else:
        hint = "Check that the database runs and can be reached from here. "
    text = f"The record's store at {address.shown} cannot be used: {said(problem)}"
    return SetupError(code, text, hint=f"{hint}{TRIES_AGAIN}")
