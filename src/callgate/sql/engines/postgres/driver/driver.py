"""PostgresEngine: PostgreSQL for `drivers.network.driver`. Opens sessions that hold the policy."""

import ssl

from callgate.model.errors import CallgateError
from callgate.sql.drivers.network.driver import NetworkDriver
from callgate.sql.drivers.network.pinning import pin_or_close
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ConnectionLost
from callgate.sql.drivers.network.unreachable import password_wanted, unreachable, unwilling
from callgate.sql.drivers.posture import Posture
from callgate.sql.engines.postgres.driver.connection import Learned, PostgresConnection
from callgate.sql.engines.postgres.driver.scram import ScramFailed
from callgate.sql.engines.postgres.driver.session import PinFailed, startup_parameters
from callgate.sql.engines.postgres.driver.wire import NeedsPrivacy, NoTls, ServerError, UnknownMethod, connect
from callgate.sql.engines.postgres.failures import explain_failure, explain_login
from callgate.sql.engines.postgres.own_functions import OwnFunctions
from callgate.sql.engines.postgres.posture import examine
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress


class PostgresEngine:
    display_name = "PostgreSQL"

    def __init__(self, address: ServerAddress, policy: Policy) -> None:
        self._address = address
        self._policy = policy
        self._learned = Learned({}, OwnFunctions(policy.allow_functions, policy.dialect.vocabulary.functions))

    async def open(self) -> PostgresConnection:
        try:
            wire = await connect(self._address, startup_parameters(self._address, self._policy))
            connection = PostgresConnection(wire, self._address, self._policy, self._learned)
            await pin_or_close(connection, self._address.connect_timeout_s)
        except ServerError as error:
            raise explain_login(error.fault, self._address) from None
        except (UnknownMethod, NeedsPrivacy, NoTls, ScramFailed, UnicodeEncodeError, PinFailed) as error:
            raise self._unwilling(error) from None
        except (OSError, TimeoutError, ssl.SSLError, ConnectionLost, *OUT_OF_STEP) as error:
            raise unreachable(error, self._address) from None
        return connection

    def placeholder(self, index: int) -> str:
        return f"${index}"

    async def explain(self, fault: DatabaseFault, statement: Statement, ask: Ask) -> CallgateError:
        return await explain_failure(fault, statement, self._policy, ask)

    async def examine(self, ask: Ask) -> Posture:
        return await examine(ask, self._policy)

    def _unwilling(self, error: Exception) -> OpenFailed:
        if isinstance(error, UnknownMethod):
            what = "the server wants a login method that is not supported."
            hint = "Use scram-sha-256 or md5 in its pg_hba.conf."
        elif isinstance(error, NeedsPrivacy):
            what, hint = password_wanted("scram-sha-256 in its pg_hba.conf")
        elif isinstance(error, NoTls):
            what = "the server offers no TLS."
            hint = "Set up TLS on the server; only where nobody can listen in, add ?ssl=off to the DSN."
        elif isinstance(error, PinFailed):
            what = f"the session's {error} could not be set; there may be a pooler in between."
            hint = "Connect to the server itself."
        elif isinstance(error, UnicodeEncodeError):
            what = "the user or database name cannot be written in UTF-8."
            hint = "Check the DSN."
        else:
            what = "the server did not prove that it knows the password."
            hint = "Somebody may intercept the connection; check host and TLS."
        return unwilling(self._address, what, hint)


def postgres_driver(
    source_id: str, address: ServerAddress, policy: Policy, pool_size: int
) -> NetworkDriver[PostgresConnection]:
    return NetworkDriver(source_id, PostgresEngine(address, policy), policy, pool_size)
