"""As whom SQL of users runs, and whether that holds without our guard.

With a second user in the address it runs in sessions of that user, who may read the four views and nothing
else: no statement can become anybody else. Without one it runs in sessions of our own user under a role, that
a statement may leave (`set_config('role', …)`). Then only the guard holds it back.
"""

import asyncio

from callgate.model.error_codes import SETUP_STORE_SCHEMA
from callgate.model.errors import SetupError
from callgate.postgres_connection import FAILURES, Connection, connect_to, pg
from callgate.recorder.stores.postgres.connection import StoreAddress, trouble_of
from callgate.recorder.stores.postgres.schema import READER_ROLE, STORE, VIEWS

_NO_ROLE = f"SQL over the record needs the role {READER_ROLE}, which is missing or not granted"
_NO_ROLE_HINT = (
    f"An administrator runs: CREATE ROLE {READER_ROLE} NOLOGIN; GRANT {READER_ROLE} TO the record's user; "
    f"GRANT USAGE ON SCHEMA {VIEWS} TO {READER_ROLE}; "
    f"GRANT SELECT ON ALL TABLES IN SCHEMA {VIEWS} TO {READER_ROLE}"
)
_NO_LOGIN = (
    f"SQL over the record runs in sessions of the record's own user under the role {READER_ROLE}, which a "
    "statement could leave if our guard let it through"
)
_NO_LOGIN_HINT = (
    f"Give it a login of its own: ALTER ROLE {READER_ROLE} LOGIN PASSWORD '…', and "
    f"?reader={READER_ROLE}&reader_password=… at the end of the database's address"
)
_TOO_MUCH = "The user for SQL over the record may do more than read the record"
_TOO_MUCH_HINT = (
    f"Take its other roles and rights away: it needs USAGE on schema {VIEWS} and SELECT on the views in it"
)
_TOO_LITTLE = "The user for SQL over the record cannot read the record"
_TOO_LITTLE_HINT = (
    f"An administrator runs: GRANT {READER_ROLE} TO this user; or grants USAGE on schema {VIEWS} and "
    "SELECT on the views in it"
)
_SETTINGS = f"SET LOCAL search_path = {VIEWS}, pg_catalog; SET LOCAL work_mem = '32MB'"
_LOOK_S = 10.0
_RIGHTS = f"""
SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls
    OR EXISTS (SELECT FROM pg_roles other WHERE other.rolname NOT IN (session_user, '{READER_ROLE}')
        AND pg_has_role(session_user, other.oid, 'MEMBER'))
    OR (to_regnamespace('{STORE}') IS NOT NULL AND has_schema_privilege(to_regnamespace('{STORE}'), 'USAGE')),
    to_regnamespace('{VIEWS}') IS NULL OR to_regclass('{VIEWS}.rpc_events') IS NULL
        OR has_table_privilege(to_regclass('{VIEWS}.rpc_events'), 'SELECT')
FROM pg_roles WHERE rolname = session_user
"""  # noqa: S608


async def become_reader(connection: Connection, address: StoreAddress) -> None:
    """For the rest of a transaction. Raises SetupError."""
    role = "" if address.reader_dsn is not None else f"SET LOCAL ROLE {READER_ROLE}; "
    try:
        await connection.execute(f"{role}{_SETTINGS}")
    except (pg.InvalidParameterValueError, pg.InsufficientPrivilegeError, pg.UndefinedObjectError):
        raise _trouble(_NO_ROLE, _NO_ROLE_HINT) from None


async def reader_trouble(address: StoreAddress, has_role: bool) -> SetupError | None:
    """What an operator should change; raises nothing. `has_role`: it is granted to our own user."""
    if address.reader_dsn is None:
        return _trouble(_NO_LOGIN, _NO_LOGIN_HINT) if has_role else _trouble(_NO_ROLE, _NO_ROLE_HINT)
    try:
        connection = await connect_to(address.reader_dsn)
        try:
            async with asyncio.timeout(_LOOK_S):
                may_more, may_read = await connection.fetchrow(_RIGHTS)
        finally:
            connection.terminate()
    except pg.InsufficientPrivilegeError:  # not even of the schema
        return _trouble(_TOO_LITTLE, _TOO_LITTLE_HINT)
    except FAILURES as problem:
        return trouble_of(address, problem)
    if may_more:
        return _trouble(_TOO_MUCH, _TOO_MUCH_HINT)
    return None if may_read else _trouble(_TOO_LITTLE, _TOO_LITTLE_HINT)


def _trouble(text: str, hint: str) -> SetupError:
    return SetupError(SETUP_STORE_SCHEMA, text, hint=hint)
