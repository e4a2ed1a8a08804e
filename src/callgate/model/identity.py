"""Who is calling, and the ids under which we remember what they did."""

import os
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Principal:
    """Who the gate decided the caller is. A session and a parked call belong to exactly one principal."""

    name: str


# The person at this machine: loopback without tokens, and every local pipe or socket.
LOCAL = Principal("local")


def new_exchange_id(now_s: float, entropy: bytes | None = None) -> str:
    """A UUIDv7 (RFC 9562, 5.7): sorts by time, so the newest rows of the record sit together.

    `entropy` (10 bytes) is an argument for tests; by default it comes from the system's CSPRNG.
    """
    random = entropy if entropy is not None else os.urandom(10)
    raw = bytearray((int(now_s * 1000) & 0xFFFF_FFFF_FFFF).to_bytes(6, "big") + random)
    raw[6] = 0x70 | (raw[6] & 0x0F)
    raw[8] = 0x80 | (raw[8] & 0x3F)
    text = raw.hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
