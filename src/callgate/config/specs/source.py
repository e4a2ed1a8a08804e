"""`[[sources]]`: databases. Parses only; whether an engine can be spoken to is `sql`'s business."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, Self

from callgate.config.reading.markers import ReadBy, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret
from callgate.config.specs.dsn import Dsn, DsnError, EngineName, mask_dsn, parse_dsn, refused_dsn
from callgate.config.specs.field_types import Count, EntryName, FilePath, Pattern, Seconds
from callgate.config.specs.server_params import read_server_params
from callgate.config.specs.spec import Spec, shows
from callgate.config.specs.ssh import SshSpec
from callgate.model.data_files import reader_of


def _read_dsn(value: Any) -> Dsn:
    if not isinstance(value, (Dsn, str)):
        raise refusal("a string is expected")
    try:
        dsn = value if isinstance(value, Dsn) else parse_dsn(value)
        if dsn.path is None:
            read_server_params(dsn)
        return dsn  # noqa: TRY300 - what follows is reached by the error alone
    except DsnError as error:
        refused = refused_dsn(error)
    raise refused


class SourceSpec(Spec):
    # Says how the source came to be, not what it is: a file cannot set it.
    from_environment: ClassVar[bool] = False

    id: EntryName = spec_key(description="The source's name, unique among sources and MCP servers.")
    dsn: Annotated[
        Dsn,
        ReadBy(_read_dsn, {"type": "string", "examples": ["mysql://me:${PASSWORD}@localhost/shop"]}),
    ] = spec_key(
        repr=False, description="mysql://, mariadb://, postgres://, postgresql://, sqlite:/// or duckdb:///"
    )
    mode: Literal["read_only", "write"] = spec_key(
        default="read_only", description="write also allows INSERT, UPDATE, DELETE, REPLACE, transactions."
    )
    timeout_s: Seconds = spec_key(default=30.0, description="Seconds after which a statement is stopped.")
    max_rows: Count = spec_key(default=1000, description="Most rows of one result.")
    character_limit: Count = spec_key(default=25000, description="Most characters of one result.")
    require_qualified: bool | None = spec_key(
        default=None, description="Refuse unqualified table names; unset: the engine's own default."
    )
    allow_ddl: bool = spec_key(
        default=False, description="In write mode also allow CREATE and ALTER, never DROP."
    )
    allow_functions: tuple[str, ...] = spec_key(
        default=(), description="Functions of your own that statements may call."
    )
    # 8: enough for parallel agents, far below any server's default limit on connections.
    pool_size: Count = spec_key(default=8, description="Most connections held open.")
    max_connections: Count | None = spec_key(
        default=None,
        description="Most connections of all replicas together; each has its share, and at least one.",
    )
    password_command: tuple[str, ...] = spec_key(
        default=(),
        description="Program and arguments that print the password: for tokens of a cloud or a vault.",
    )
    # AWS's tokens are good for a quarter of an hour, which is the shortest of those in use.
    password_ttl_s: Seconds = spec_key(
        default=900.0, description="Seconds for which such a password is good; it is renewed before."
    )
    ssl_ca: FilePath | None = spec_key(default=None, description="PEM file of the authority that is trusted.")
    ssl_cert: FilePath | None = spec_key(default=None, description="PEM file of the client certificate.")
    ssl_key: FilePath | None = spec_key(default=None, description="PEM file of the client certificate's key.")
    ssl_key_password: Secret | None = spec_key(default=None, description="The password of that key.")
    ssh: SshSpec | None = spec_key(default=None, description="The SSH server through which it is reached.")
    redact_keys: tuple[str, ...] = spec_key(
        default=(),
        description="Columns and keys whose values are not recorded of this source, beside [record]'s.",
    )
    redact_patterns: tuple[Pattern, ...] = spec_key(
        default=(), description="Regular expressions; what they match is never recorded of this source."
    )

    def check(self) -> None:
        self._check_connections()
        self._check_mode()
        self._check_way()

    def _check_connections(self) -> None:
        if self.max_connections is not None and self.dsn.path is not None:
            raise refusal("max_connections is for database servers", "Remove it: a file is opened by each.")

    def _check_mode(self) -> None:
        is_data = self.dsn.engine is EngineName.DUCKDB and reader_of(self.dsn.path or "") is not None
        if is_data and self.mode == "write":
            raise refusal(
                "such a file can only be read", "Leave mode out, or import it into a database file."
            )

    def _check_way(self) -> None:
        if self.password_command and self.dsn.path is not None:
            raise refusal("password_command is for database servers", "Remove it: a file has no password.")
        if self.password_command and self.dsn.password is not None:
            raise refusal("the dsn has a password, and password_command too", "Keep one of the two.")
        keys = self._ssl_params()
        if keys and self.dsn.path is not None:
            raise refusal(f"{next(iter(keys))} is for database servers", "Remove it: a file has no TLS.")
        if keys:
            _read_dsn(self.full_dsn)
        if self.ssh is not None and self.dsn.path is not None:
            raise refusal("ssh is for database servers", "Remove it: a file is opened on this machine.")

    def _ssl_files(self) -> dict[str, Path]:
        files = {"ssl_ca": self.ssl_ca, "ssl_cert": self.ssl_cert, "ssl_key": self.ssl_key}
        return {name: path for name, path in files.items() if path is not None}

    def _ssl_params(self) -> dict[str, str]:
        params = {name: str(path) for name, path in self._ssl_files().items()}
        if self.ssl_key_password is not None:
            params["ssl_key_password"] = self.ssl_key_password.get_secret_value()
        return params

    @property
    def full_dsn(self) -> Dsn:
        """The address with what the keys beside it add."""
        keys = self._ssl_params()
        if twice := sorted(self.dsn.params.keys() & keys.keys()):
            raise refusal(f"{twice[0]} stands in the dsn too", "Keep one of the two.")
        return replace(self.dsn, params={**self.dsn.params, **keys})

    def anchored_at(self, folder: Path) -> Self:
        """Relative paths made absolute."""
        ssh = self.ssh.anchored_at(folder) if self.ssh is not None else None
        anchored = {name: folder / path.expanduser() for name, path in self._ssl_files().items()}
        return self.with_values(dsn=self.dsn.anchored_at(folder), ssh=ssh, **anchored)

    @shows("dsn")
    def _show_dsn(self, dsn: Dsn, is_effective: bool) -> str:
        written = self.as_written(is_effective, "dsn")
        return str(dsn) if written is None else mask_dsn(written)


class SourceFromEnvironment(SourceSpec):
    """Made from MYSQL_* or DATABASE_URL: named and advised about in the words of those variables."""

    from_environment: ClassVar[bool] = True
