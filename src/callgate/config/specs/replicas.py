"""`[replicas]`: several gateways that are one to their clients, and the database in which they meet."""

from contextlib import suppress
from typing import Annotated, Any, Literal

from callgate.config.reading.markers import After, ReadBy, ShownBy, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.specs.listen_address import (
    ListenAddress,
    ListenError,
    parse_host,
    parse_host_and_port,
    read_listen,
)
from callgate.config.specs.record_store import DatabaseField, StoreAddressSpec, mask_store
from callgate.config.specs.spec import Spec, shows

_ANY_INTERFACE = "0.0.0.0"  # noqa: S104 - every request is signed with a key that only replicas have
DEFAULT_PORT = 7421


def _read_hop_listen(value: Any) -> ListenAddress:
    return read_listen(value, f'Write "{_ANY_INTERFACE}:{DEFAULT_PORT}".', parse_host_and_port)


def _check_advertise(text: str) -> str:
    for parse in (parse_host_and_port, parse_host):
        with suppress(ListenError):
            parse(text)
            return text
    raise refusal("a host, or host and port, is expected", 'Write "10.0.3.7", or "10.0.3.7:7421".')


class ReplicasSpec(Spec):
    database: DatabaseField | None = spec_key(
        default=None, repr=False, description="PostgreSQL in which the replicas find each other."
    )
    listen: Annotated[
        ListenAddress,
        ReadBy(
            _read_hop_listen,
            {"type": "string", "examples": [f"{_ANY_INTERFACE}:{DEFAULT_PORT}", "[::]:7421"]},
        ),
        ShownBy(str),
    ] = spec_key(
        default=ListenAddress(_ANY_INTERFACE, DEFAULT_PORT),
        description="Host and port for other replicas only; port 0 takes any.",
    )
    advertise: Annotated[str, After(_check_advertise)] | None = spec_key(
        default=None,
        description="How they reach us; the address from which we reach the database if unset.",
    )
    peers: Literal["on", "off"] = spec_key(
        default="on", description="off where replicas cannot reach one another: no sessions, no questions."
    )

    @property
    def is_on(self) -> bool:
        return self.database is not None

    @shows("database")
    def _show_database(self, database: StoreAddressSpec | None, is_effective: bool) -> str | None:
        if database is None:
            return None
        written = self.as_written(is_effective, "database")
        return str(database) if written is None else mask_store(written)
