"""PostgresEngine: PostgreSQL for `drivers.network.driver`. Opens sessions that hold the policy."""

from callgate.model.errors import CallgateError
from callgate.sql.drivers.network.driver import NetworkDriver
from callgate.sql.drivers.network.pinning import pin_or_close
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed, ServerError, opened_or_failed
from callgate.sql.drivers.network.unreachable import password_wanted, unwilling
from callgate.sql.drivers.network.way import LoginFailures, Way
from callgate.sql.drivers.posture import Posture
from callgate.sql.engines.postgres.driver.connection import Learned, PostgresConnection
from callgate.sql.engines.postgres.driver.scram import ScramFailed
from callgate.sql.engines.postgres.driver.session import (
    NOTICES_LEAVING,
    PinFailed,
    plain_parameters,
    startup_parameters,
)
from callgate.sql.engines.postgres.driver.wire import (
    NeedsPrivacy,
    NotBound,
    NoTls,
    PostgresWire,
    UnknownMethod,
    connect,
)
from callgate.sql.engines.postgres.failures import explain_failure, explain_login
from callgate.sql.engines.postgres.own_functions import OwnFunctions
from callgate.sql.engines.postgres.posture import examine
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

_WRONG_PASSWORD = ("28P01", "28000")
_UNWILLING = (UnknownMethod, NeedsPrivacy, NoTls, NotBound, ScramFailed, UnicodeEncodeError, PinFailed)


class PostgresEngine:
    display_name = "PostgreSQL"
    # A session that became read-only, and servers that stop or are a standby.
    failover_codes = ("25006", "57P01", "57P02", "57P03")

    def __init__(self, address: ServerAddress, policy: Policy) -> None:
        self._address = address
        self._policy = policy
        self._way = Way(address)
        self._failures = LoginFailures(_WRONG_PASSWORD, explain_login, _UNWILLING, self._unwilling)
        self._learned = Learned({}, OwnFunctions(policy.allow_functions, policy.dialect.vocabulary.functions))

    async def open(self) -> PostgresConnection:
        """The first server that answers and is of the kind that the address asks for."""
        failed: OpenFailed | None = None
        wanted = self._address.session_attrs
        for attrs in ("standby", "any") if wanted == "prefer-standby" else (wanted,):
            for address in self._address.each():
                connection = await opened_or_failed(self._open_at, address)
                if isinstance(connection, OpenFailed):
                    failed = failed or connection
                    continue
                if _is_wanted(attrs, is_standby=connection.is_standby):
                    return connection
                connection.close()
                failed = failed or self._not_wanted(address)
        assert failed is not None
        raise failed

    async def _open_at(self, address: ServerAddress) -> PostgresConnection:
        address = await self._way.prepared(address)
        with self._way.logging_in(address, self._failures):
            wire = await self._log_in(address)
            connection = PostgresConnection(wire, address, self._policy, self._learned, self._way)
            await pin_or_close(connection, address.connect_timeout_s)
            return connection

    async def _log_in(self, address: ServerAddress) -> PostgresWire:
        learned = self._learned
        while not learned.is_pooler:
            parameters = startup_parameters(
                address, self._policy, notices_leaving=not learned.cannot_notice_leaving
            )
            try:
                return await connect(address, parameters, self._way.open)
            except ServerError as error:
                if is_pooler_fault(error.fault):
                    learned.is_pooler = True
                elif NOTICES_LEAVING in error.fault.message and not learned.cannot_notice_leaving:
                    learned.cannot_notice_leaving = True
                else:
                    raise
        return await connect(address, plain_parameters(address), self._way.open)

    async def close(self) -> None:
        await self._way.close()

    def placeholder(self, index: int) -> str:
        return f"${index}"

    async def explain(self, fault: DatabaseFault, statement: Statement, ask: Ask) -> CallgateError:
        return await explain_failure(fault, statement, self._policy, ask)

    async def examine(self, ask: Ask) -> Posture:
        return await examine(ask, self._policy)

    def _not_wanted(self, address: ServerAddress) -> OpenFailed:
        what = (
            f"the server is not of the kind that target_session_attrs={self._address.session_attrs} asks for."
        )
        return unwilling(address, what, "Name the other servers in the address too: host1,host2.")

    def _unwilling(self, error: Exception, address: ServerAddress) -> OpenFailed:
        if isinstance(error, NotBound):
            what = "the address asks for channel_binding=require, and the login cannot be bound to the line."
            hint = "Use TLS and scram-sha-256, or leave channel_binding out."
        elif isinstance(error, UnknownMethod):
            what = "the server wants a login method that is not supported."
            hint = "Use scram-sha-256 or md5 in its pg_hba.conf."
        elif isinstance(error, NeedsPrivacy):
            what, hint = password_wanted("scram-sha-256 in its pg_hba.conf")
        elif isinstance(error, NoTls):
            what = "the server offers no TLS."
            hint = "Set up TLS on the server; only where nobody can listen in, add ?ssl=off to the DSN."
        elif isinstance(error, PinFailed):
            what = f"the session's settings could not be made sure of ({error})."
            hint = "Something between us and the server changes them: connect to the server itself."
        elif isinstance(error, UnicodeEncodeError):
            what = "the user or database name cannot be written in UTF-8."
            hint = "Check the DSN."
        else:
            what = "the server did not prove that it knows the password."
            hint = "Somebody may intercept the connection; check host and TLS."
        return unwilling(address, what, hint)


def is_pooler_fault(fault: DatabaseFault) -> bool:
    """PgBouncer and its like refuse settings in the startup message that they do not track."""
    return fault.code == "08P01" and "startup parameter" in fault.message


def _is_wanted(attrs: str, *, is_standby: bool) -> bool:
    """Our own sessions are read-only by a setting of theirs, so that only the server's role can tell."""
    if attrs in ("read-write", "primary"):
        return not is_standby
    return is_standby if attrs in ("read-only", "standby") else True


def postgres_driver(
    source_id: str, address: ServerAddress, policy: Policy, pool_size: int
) -> NetworkDriver[PostgresConnection]:
    return NetworkDriver(source_id, PostgresEngine(address, policy), policy, pool_size)
