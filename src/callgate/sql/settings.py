"""SourceSettings: one source as the operator wants it, in plain values. Counterpart: `config`.

Pure. `app` fills it in; `open_source` turns it into a policy and a running source.
"""

from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from pathlib import Path


def _host_port(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


class Mode(StrEnum):
    READ_ONLY = "read_only"
    WRITE = "write"

    @property
    def label(self) -> str:
        """As people read it, in the seed's words."""
        return "READ-ONLY" if self is Mode.READ_ONLY else "WRITE ENABLED"


class TlsMode(StrEnum):
    OFF = "off"
    PREFER = "prefer"  # when the server offers it, unverified: for loopback, where nobody listens in
    UNVERIFIED = "unverified"  # always encrypted; the server's identity is not checked
    VERIFY_CA = "verify-ca"  # a certificate of a trusted authority, for whichever name
    VERIFY = "verify"  # and for the host that was asked


@dataclass(frozen=True, slots=True)
class Tls:
    mode: TlsMode = TlsMode.VERIFY
    ca_file: Path | None = None  # None: the system's authorities
    cert_file: Path | None = None  # ours, for servers that want one
    key_file: Path | None = None
    key_password: str | None = field(default=None, repr=False)

    @property
    def proves_server(self) -> bool:
        """Whether a handshake that came to its end says who is there: encryption alone does not.

        A certificate of any public authority for whichever name can be had by everybody.
        """
        return self.mode is TlsMode.VERIFY or (self.mode is TlsMode.VERIFY_CA and self.ca_file is not None)


@dataclass(frozen=True, slots=True)
class SshHop:
    host: str
    port: int
    user: str

    @property
    def shown(self) -> str:
        """For the operator."""
        return _host_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class Ssh:
    """A tunnel to where a database server can be reached from."""

    hops: tuple[SshHop, ...]  # in the order in which they are passed; the last one reaches the database
    known_hosts_file: Path
    key_file: Path | None = None  # None: those of the agent and of ~/.ssh
    key_password: str | None = field(default=None, repr=False)
    host_key: str | None = None  # of the last hop, instead of what known_hosts says of it


@dataclass(frozen=True, slots=True)
class ServerAddress:
    """Where a database server is and how we log in. Its password is in no repr."""

    host: str
    port: int
    user: str
    password: str | None = field(default=None, repr=False)
    database: str | None = None
    socket: Path | None = None  # a Unix socket, instead of host and port
    tls: Tls = field(default_factory=Tls)
    # A server on another continent answers within a second; beyond five, it is down.
    connect_timeout_s: float = 5.0
    # Shown in the server's own list of sessions, so that its operator knows whose they are.
    application_name: str = "callgate"
    others: tuple[tuple[str, int], ...] = ()  # hosts and ports to try after the first
    # PostgreSQL's words: which of them will do, whether the login is bound to TLS, settings of the session.
    session_attrs: str = "any"
    channel_binding: str = "prefer"
    options: str | None = None
    # MySQL's RSA key, for passwords on a line without TLS: known, or whatever the server sends.
    server_key_file: Path | None = None
    fetches_server_key: bool = False
    # A program that prints the password, and how long it is good.
    password_command: tuple[str, ...] = field(default=(), repr=False)
    password_ttl_s: float = 900.0
    # Told of each such password before it is used.
    learn_password: Callable[[str], Awaitable[None]] | None = field(default=None, repr=False, compare=False)
    ssh: Ssh | None = None  # host and socket are then those that the last SSH server sees

    def each(self) -> Iterator["ServerAddress"]:
        """Every server that it names, in order."""
        yield replace(self, others=())
        for host, port in self.others:
            yield replace(self, host=host, port=port, others=())

    def is_private(self, *, is_encrypted: bool) -> bool:
        """Whether the password itself may be told on a line to there."""
        return self.socket is not None or (is_encrypted and self.tls.proves_server)

    @property
    def shown(self) -> str:
        """For the operator."""
        return str(self.socket) if self.socket is not None else _host_port(self.host, self.port)


@dataclass(frozen=True, slots=True)
class SourceSettings:
    source_id: str
    engine: str
    path: Path = Path()  # of a file
    server: ServerAddress | None = None  # of a server
    schema: str | None = None  # the file's tables are also reachable as schema.table
    mode: Mode = Mode.READ_ONLY
    timeout_s: float = 30.0
    max_rows: int = 1000
    character_limit: int = 25_000
    allow_ddl: bool = False
    allow_functions: frozenset[str] = frozenset()
    pool_size: int = 4
    require_qualified: bool = False
    from_environment: bool = False  # set up by variables: advice must not speak of callgate.toml keys
    has_siblings: bool = False  # other sources of the same engine: resources then name theirs (resource_uris)
    about: str = ""  # what a caller should know of the data, for the tool's description
    is_fixed: bool = False  # only ever read: there is nothing an operator could allow
