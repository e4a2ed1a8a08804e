"""What lies in the journal's folder: `recorder.journal.journal` and `recorder.journal.frames`."""

import os
import struct
import tempfile
import zlib
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any

from callgate.recorder.journal.frames import CALLS, EVENTS, GAPS, HEAD, OPENED, SESSIONS, frame, joined
from callgate.recorder.journal.journal import read_frames

_MAGIC = b"callgate-journal-6\n"
_KINDS = (EVENTS, CALLS, OPENED, SESSIONS, GAPS, b"x", b"\0")
_ROWS = (b"[]", b"[{}]", b'[{"a":1}]', b"", b"{", b"[" * 200)


def _frame(random: Random) -> bytes:
    """Whole and with a right checksum, but perhaps with a number in it changed."""
    count = random.choice((0, 1, 2, 3))
    bodies = [b"b" * random.randint(0, 9) for _ in range(2 * count)]
    made = frame(random.choice(_KINDS), random.choice(_ROWS), count, bodies)
    if random.random() < 0.6 and len(made) >= HEAD.size + 4:
        at = random.randrange(HEAD.size, len(made) - 3)
        struct.pack_into("<i", made, at, random.choice((-1, 0, 1, 4, 2**31 - 1, -(2**31), len(made))))
    if random.random() < 0.8:
        HEAD.pack_into(made, 0, len(made) - HEAD.size, zlib.crc32(memoryview(made)[HEAD.size :]))
    return bytes(made)


class JournalTarget:
    name = "journal"
    share = 3
    hang_cpu_s = 2.0
    is_cut = False
    words = (_MAGIC, HEAD.pack(4, 0), HEAD.pack(2**32 - 1, 0), HEAD.pack(256 * 1024 * 1024, 0))
    seeds = tuple(_MAGIC + _frame(Random(number)) * 2 for number in range(20))

    def __init__(self) -> None:
        folder = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
        self._folder = tempfile.TemporaryDirectory(dir=folder)
        self._path = Path(self._folder.name) / "1-x.000000.journal"

    def run(self, pieces: Sequence[bytes]) -> Any:
        """The rows and bodies of every frame, each body looked at: offsets are what could lead astray."""
        self._path.write_bytes(b"".join(pieces))
        found: list[Any] = []
        several = []
        for one in read_frames(self._path, 0):
            bodies = one.bodies
            assert one.end <= self._path.stat().st_size
            texts = [bodies.texts(place) for place in range(bodies.count)] if bodies is not None else None
            found.append((one.kind, one.rows_json, one.count, texts))
            if bodies is not None:
                several.append(bodies)
        if several:
            whole = joined(several)
            assert whole.count == sum(bodies.count for bodies in several)
            for place in range(whole.count):
                whole.texts(place)
        return found

    def generated(self, random: Random) -> bytes:
        return _MAGIC + b"".join(_frame(random) for _ in range(random.randint(1, 4)))
