"""`[sources.ssh]`: the SSH server through which a database is reached. Counterpart: `sql.drivers.network`."""

import base64
import re
from pathlib import Path
from typing import Annotated, Any

from callgate.config.reading.markers import After, Before, Bounds, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret
from callgate.config.specs.dsn import is_host
from callgate.config.specs.field_types import FilePath, check_no_bool
from callgate.config.specs.spec import Spec

_PORT = 22
_FINGERPRINT = re.compile(r"SHA256:[A-Za-z0-9+/]{43}")
_PUBLIC_KEY = re.compile(r"(?:ssh|ecdsa|sk)-[a-z0-9@.-]+ [A-Za-z0-9+/=]{40,}(?: .*)?")


def _check_host(text: str) -> str:
    if not is_host(text) and not is_host(f"[{text}]"):
        raise refusal("this is not a host name or an address", 'Write host = "gate.internal"; port is a key.')
    return text.strip("[]")


def _check_user(text: str) -> str:
    if not text or not text.isprintable() or "@" in text:
        raise refusal("this is not a user's name")
    return text


def _check_host_key(text: str) -> str:
    if _FINGERPRINT.fullmatch(text):
        return text
    hint = 'Write "ssh-ed25519 AAAA…" or "SHA256:…", as ssh-keyscan and ssh-keygen -lf print them.'
    if not _PUBLIC_KEY.fullmatch(text):
        raise refusal("this is neither a public key nor its fingerprint", hint)
    kind, data = text.split()[:2]
    try:
        told = base64.b64decode(data, validate=True)[4 : 4 + len(kind)]
    except ValueError:
        told = b""
    if told != kind.encode():
        raise refusal("this is neither a public key nor its fingerprint", hint)
    return f"{kind} {data}"


def _one_or_more(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


def _check_jump(text: str) -> str:
    read_hop(text, "x")
    return text


def read_hop(text: str, user: str) -> tuple[str, int, str]:
    """`user@host:port`, of which the host alone must be there: host, port, user. Raises a refusal."""
    before, at, place = text.rpartition("@")
    host, colon, digits = place.rpartition(":") if not place.endswith("]") else (place, "", "")
    if not colon:
        host, digits = place, str(_PORT)
    is_port = digits.isascii() and digits.isdigit() and len(digits) <= 5 and 1 <= int(digits) <= 65535
    if not is_host(host) or not is_port or (at and not before):
        raise refusal("a jump host is written as user@host:port", 'Write jump = ["me@gate.internal:22"].')
    return host.strip("[]"), int(digits), before or user


class SshSpec(Spec):
    host: Annotated[str, After(_check_host)] = spec_key(description="The SSH server.")
    port: Annotated[int, Bounds(ge=1, le=65535), Before(check_no_bool)] = spec_key(
        default=_PORT, description="Its port."
    )
    user: Annotated[str, After(_check_user)] | None = spec_key(
        default=None, description="Its account; unset: that of the gateway's own process."
    )
    key: FilePath | None = spec_key(
        default=None, description="The private key's file; unset: the SSH agent's keys and those of ~/.ssh."
    )
    key_password: Secret | None = spec_key(default=None, description="The key's own password.")
    known_hosts: FilePath = spec_key(
        default=Path("~/.ssh/known_hosts"), description="The host keys that are trusted."
    )
    host_key: Annotated[str, After(_check_host_key)] | None = spec_key(
        default=None,
        description="The server's public key or its SHA256 fingerprint, instead of known_hosts.",
    )
    jump: Annotated[tuple[Annotated[str, After(_check_jump)], ...], Before(_one_or_more)] = spec_key(
        default=(), description="SSH servers to pass on the way, each as user@host:port."
    )

    def anchored_at(self, folder: Path) -> "SshSpec":
        """Relative paths made absolute: what they are relative to must not depend on who starts us."""
        return self.with_values(
            key=folder / self.key.expanduser() if self.key is not None else None,
            known_hosts=folder / self.known_hosts.expanduser(),
        )
