"""Who is calling, and the ids under which we remember what they did."""

import hashlib
import os
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal, cast

# As the configuration and the API spell it.
RoleWord = Literal["call", "watch", "operate"]


class Role(IntEnum):
    """What a principal may do. Each role may also do what the roles before it may."""

    CALL = 1  # use the MCP endpoints
    WATCH = 2  # read the record, try tools and make calls again
    OPERATE = 3  # change what the gateway does

    @property
    def word(self) -> RoleWord:
        return cast(RoleWord, self.name.lower())


@dataclass(frozen=True, slots=True)
class Principal:
    """Who the gate decided the caller is. A session and a parked call belong to exactly one principal.

    Two values with one name are the same principal: its role may change while its sessions go on.
    """

    name: str
    role: Role = field(default=Role.CALL, compare=False)


# The person at this machine: loopback without tokens, and every local pipe or socket.
LOCAL = Principal("local", Role.OPERATE)


def token_hash_of(token: str) -> str:
    """What is kept of a bearer token, as `[principals]` writes it."""
    return f"sha256:{hashlib.sha256(token.encode(errors='surrogatepass')).hexdigest()}"


# The first digit of the variant field: its upper two bits are 10.
_VARIANT = {digit: f"{0x8 | (int(digit, 16) & 0x3):x}" for digit in "0123456789abcdef"}


# The last part of ids to come, by the page: asking the system's CSPRNG for each took a fortieth of a request.
_tails: list[str] = []
os.register_at_fork(after_in_child=_tails.clear)  # or two processes would give the same ids
_TAILS_A_PAGE = 200
# The first part, which is the same for all of one millisecond.
_last_millis, _last_begin = -1, ""


def new_trace_id() -> str:
    return os.urandom(16).hex()


def new_span_id() -> str:
    return os.urandom(8).hex()


def new_exchange_id(now_s: float, entropy: bytes | None = None) -> str:
    """A UUIDv7 (RFC 9562, 5.7): sorts by time, so the newest rows of the record sit together.

    `entropy` (10 bytes) is an argument for tests; by default it comes from the system's CSPRNG.
    """
    global _last_millis, _last_begin
    if entropy is not None:
        tail = _tail(entropy)
    else:
        if not _tails:
            page = os.urandom(10 * _TAILS_A_PAGE)
            _tails.extend([_tail(page[at : at + 10]) for at in range(0, len(page), 10)])
        tail = _tails.pop()
    millis = int(now_s * 1000)
    if millis != _last_millis:
        digits = "%012x" % (millis & 0xFFFF_FFFF_FFFF)
        _last_millis, _last_begin = millis, f"{digits[:8]}-{digits[8:]}"
    return _last_begin + tail


def _tail(entropy: bytes) -> str:
    text = entropy.hex()
    return f"-7{text[1:4]}-{_VARIANT[text[4]]}{text[5:8]}-{text[8:]}"
