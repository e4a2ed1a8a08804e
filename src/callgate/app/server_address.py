"""From a DSN to the address of a database server, with each engine's own defaults."""

from pathlib import Path

from callgate.config.specs.dsn import Dsn, Engine
from callgate.config.specs.server_params import read_server_params
from callgate.sql.settings import ServerAddress, Tls, TlsMode

_PORTS = {Engine.MYSQL: 3306, Engine.POSTGRES: 5432}
_USERS = {Engine.MYSQL: "root", Engine.POSTGRES: "postgres"}
_CONNECT_TIMEOUT_S = 5.0  # a server on another continent answers within a second; beyond five, it is down


def server_of(dsn: Dsn) -> ServerAddress | None:
    """None when the DSN names a file. Its parameters were checked when the configuration was read."""
    port = _PORTS.get(dsn.engine)
    if port is None:
        return None
    params = read_server_params(dsn)
    port = dsn.port or port
    return ServerAddress(
        host=dsn.host or "localhost",
        port=port,
        user=dsn.user or _USERS[dsn.engine],
        password=dsn.password.get_secret_value() if dsn.password is not None else None,
        database=dsn.database,
        socket=_socket(dsn, params.socket, port),
        tls=Tls(
            TlsMode(params.tls_mode),
            params.ca_file,
            params.cert_file,
            params.key_file,
            params.key_password,
        ),
        connect_timeout_s=params.connect_timeout_s or _CONNECT_TIMEOUT_S,
        application_name=params.application_name or "callgate",
    )


def _socket(dsn: Dsn, path: Path | None, port: int) -> Path | None:
    """PostgreSQL's people name the folder that the socket is in."""
    if path is None or dsn.engine is not Engine.POSTGRES or path.name.startswith(".s.PGSQL."):
        return path
    return path / f".s.PGSQL.{port}"
