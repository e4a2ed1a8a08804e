"""MySqlEngine: MySQL and MariaDB for `drivers.network.driver`. Opens sessions that hold the policy."""

import ssl

from callgate.model.errors import CallgateError
from callgate.sql.drivers.network.driver import NetworkDriver
from callgate.sql.drivers.network.password_command import Passwords
from callgate.sql.drivers.network.pinning import pin_or_close
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed
from callgate.sql.drivers.network.stream import OUT_OF_STEP, ConnectionLost
from callgate.sql.drivers.network.unreachable import password_wanted, unreachable, unwilling
from callgate.sql.drivers.posture import Posture
from callgate.sql.engines.mysql.driver.connection import MySqlConnection
from callgate.sql.engines.mysql.driver.login import NeedsPrivacy, UnknownPlugin
from callgate.sql.engines.mysql.driver.session import PinFailed
from callgate.sql.engines.mysql.driver.wire import NoTls, NotMySql, ServerError, connect
from callgate.sql.engines.mysql.failures import explain_failure, explain_login
from callgate.sql.engines.mysql.own_functions import OwnFunctions
from callgate.sql.engines.mysql.posture import examine
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

_REFUSED_LOGIN = ("1045", "1698")


class MySqlEngine:
    display_name = "MySQL"
    # --read-only, --super-read-only, a server that shuts down, a replica in a group.
    failover_codes = ("1290", "1836", "1053", "3100")

    def __init__(self, address: ServerAddress, policy: Policy) -> None:
        self._address = address
        self._policy = policy
        self._passwords = Passwords(address)
        vocabulary = policy.dialect.vocabulary
        self._own_functions = OwnFunctions(
            policy.allow_functions, vocabulary.functions | vocabulary.write_functions
        )

    async def open(self) -> MySqlConnection:
        """With the first server that answers."""
        failed: OpenFailed | None = None
        for address in self._address.each():
            try:
                return await self._open_at(address)
            except OpenFailed as failure:
                failed = failed or failure
        assert failed is not None
        raise failed

    async def _open_at(self, address: ServerAddress) -> MySqlConnection:
        address = await self._passwords.filled_in(address)
        try:
            wire = await connect(address)
            connection = MySqlConnection(wire, address, self._policy, self._passwords, self._own_functions)
            await pin_or_close(connection, address.connect_timeout_s)
        except ServerError as error:
            if error.fault.code in _REFUSED_LOGIN:  # a full server says nothing of the password
                self._passwords.forget()
            raise explain_login(error.fault, address) from None
        except (UnknownPlugin, NeedsPrivacy, NoTls, NotMySql, PinFailed) as error:
            raise self._unwilling(error, address) from None
        except (OSError, TimeoutError, ssl.SSLError, ConnectionLost, *OUT_OF_STEP) as error:
            raise unreachable(error, address) from None
        return connection

    def placeholder(self, index: int) -> str:
        return "?"

    async def explain(self, fault: DatabaseFault, statement: Statement, ask: Ask) -> CallgateError:
        return await explain_failure(fault, statement, self._policy, ask)

    async def examine(self, ask: Ask) -> Posture:
        return await examine(ask, self._policy)

    def _unwilling(self, error: Exception, address: ServerAddress) -> OpenFailed:
        if isinstance(error, UnknownPlugin):
            what = f"the server wants the login method {error}, which is not supported."
            hint = "Give the account mysql_native_password or caching_sha2_password."
        elif isinstance(error, NeedsPrivacy):
            what, hint = password_wanted("an account with mysql_native_password")
        elif isinstance(error, NoTls):
            what = "the server offers no TLS."
            hint = "Set up TLS on the server; only where nobody can listen in, add ?ssl=off to the DSN."
        elif isinstance(error, PinFailed):
            what = f"the session's {error} could not be set; there may be a proxy in between."
            hint = "Connect to the server itself."
        else:
            what = "the server does not speak the MySQL 4.1+ protocol."
            hint = "Check host and port."
        return unwilling(address, what, hint)


def mysql_driver(
    source_id: str, address: ServerAddress, policy: Policy, pool_size: int
) -> NetworkDriver[MySqlConnection]:
    return NetworkDriver(source_id, MySqlEngine(address, policy), policy, pool_size)
