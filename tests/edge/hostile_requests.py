"""The corpus `hostile_requests.json`: raw requests, and the status of each answer that they must get.

A packet is a text in Latin-1, or a list of texts and of [text, how many times]. Packets of one entry are sent
one after the other, each read by the gateway before the next. The limit of a body is MAX_BODY_BYTES.
"""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MAX_BODY_BYTES = 100_000


@dataclass(frozen=True)
class HostileRequest:
    why: str
    packets: list[bytes]
    answers: list[int]  # one for each request in it; none more may come


def hostile_requests() -> list[HostileRequest]:
    entries = json.loads((Path(__file__).parent / "hostile_requests.json").read_text())
    return [
        HostileRequest(entry["why"], [_packet(one) for one in entry["packets"]], entry["answers"])
        for entry in entries
    ]


def _packet(written: Any) -> bytes:
    if isinstance(written, str):
        return written.encode("latin-1")
    return b"".join(
        _packet(part) if isinstance(part, str) else _packet(part[0]) * part[1] for part in written
    )
