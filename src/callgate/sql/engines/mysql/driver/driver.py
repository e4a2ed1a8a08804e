"""MySqlEngine: MySQL and MariaDB for `drivers.network.driver`. Opens sessions that hold the policy."""

from dataclasses import replace

from callgate.model.errors import CallgateError
from callgate.model.wording import install_extra
from callgate.sql.drivers.network.pinning import pin_or_close
from callgate.sql.drivers.network.plain_reads import PlainReadDriver
from callgate.sql.drivers.network.server import Ask, DatabaseFault, OpenFailed, opened_or_failed
from callgate.sql.drivers.network.unreachable import password_wanted, unwilling
from callgate.sql.drivers.network.way import LoginFailures, Way
from callgate.sql.drivers.posture import Finding, Posture, Severity
from callgate.sql.engines.mysql.driver.connection import MySqlConnection
from callgate.sql.engines.mysql.driver.kills import Kills
from callgate.sql.engines.mysql.driver.login import BadKey, MissingPackage, NeedsPrivacy, UnknownPlugin
from callgate.sql.engines.mysql.driver.session import PinFailed
from callgate.sql.engines.mysql.driver.short_way import BaseTables
from callgate.sql.engines.mysql.driver.wire import NoTls, NotMySql, connect
from callgate.sql.engines.mysql.failures import explain_failure, explain_login
from callgate.sql.engines.mysql.own_functions import OwnFunctions
from callgate.sql.engines.mysql.posture import examine
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy
from callgate.sql.settings import ServerAddress

_WRONG_PASSWORD = ("1045", "1698")
_UNWILLING = (UnknownPlugin, MissingPackage, NeedsPrivacy, BadKey, NoTls, NotMySql, PinFailed)


class MySqlEngine:
    display_name = "MySQL"
    # --read-only, --super-read-only, a server that shuts down, a replica in a group.
    failover_codes = ("1290", "1836", "1053", "3100")

    def __init__(self, address: ServerAddress, policy: Policy) -> None:
        self._address = address
        self._policy = policy
        self._way = Way(address)
        self._kills = Kills(self._way)
        self._failures = LoginFailures(_WRONG_PASSWORD, explain_login, _UNWILLING, self._unwilling)
        vocabulary = policy.dialect.vocabulary
        self._own_functions = OwnFunctions(
            policy.allow_functions, vocabulary.functions | vocabulary.write_functions
        )
        self._base_tables = BaseTables()

    async def open(self) -> MySqlConnection:
        """With the first server that answers; to write, with the first that takes writes, if one does."""
        failed: OpenFailed | None = None
        replica: MySqlConnection | None = None
        for address in self._address.each():
            connection = await opened_or_failed(self._open_at, address)
            if isinstance(connection, OpenFailed):
                failed = failed or connection
                continue
            if connection.takes_writes or not self._policy.may_write:
                if replica is not None:
                    replica.close()
                return connection
            if replica is None:
                replica = connection
            else:
                connection.close()
        if replica is not None:
            return replica
        assert failed is not None
        raise failed

    async def _open_at(self, address: ServerAddress) -> MySqlConnection:
        address = await self._way.prepared(address)
        with self._way.logging_in(address, self._failures):
            wire = await connect(address, self._way.open)
            connection = MySqlConnection(
                wire, address, self._policy, self._kills, self._own_functions, self._base_tables
            )
            await pin_or_close(connection, address.connect_timeout_s)
            return connection

    async def close(self) -> None:
        await self._way.close()

    def placeholder(self, index: int) -> str:
        return "?"

    async def explain(self, fault: DatabaseFault, statement: Statement, ask: Ask) -> CallgateError:
        return await explain_failure(fault, statement, self._policy, ask)

    async def examine(self, ask: Ask) -> Posture:
        posture = await examine(ask, self._policy)
        address = self._address
        if not address.fetches_server_key or address.server_key_file or address.is_private(is_encrypted=True):
            return posture
        trusting = Finding(
            Severity.WARNING,
            "get_server_public_key gives the password to whoever answers in the server's place.",
            "Name the server's own key by server_public_key=/path/key.pem, or verify its certificate.",
        )
        return replace(posture, findings=(*posture.findings, trusting))

    def _unwilling(self, error: Exception, address: ServerAddress) -> OpenFailed:
        if isinstance(error, UnknownPlugin):
            what = (
                f"the server wants the login method {error}, which is not supported, "
                "or the account does not exist."
            )
            hint = "Check the user; give the account mysql_native_password or caching_sha2_password."
        elif isinstance(error, MissingPackage):
            what = f"the server wants the login method {error}, which needs a package that is not installed."
            hint = install_extra("mysql")
        elif isinstance(error, BadKey):
            what = "the server's public key is not an RSA key that can take the password."
            hint = "Check server_public_key: SHOW STATUS LIKE 'Caching_sha2_password_rsa_public_key' has it."
        elif isinstance(error, NeedsPrivacy):
            what, hint = password_wanted(
                "ssl=off&server_public_key=/path/key.pem, the server's own RSA key; "
                "or an account with mysql_native_password"
            )
            what += " Or the account does not exist: MySQL asks the same of unknown ones."
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
) -> PlainReadDriver[MySqlConnection]:
    return PlainReadDriver(source_id, MySqlEngine(address, policy), policy, pool_size)
