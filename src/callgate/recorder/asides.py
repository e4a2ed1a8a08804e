"""Which asides and notifications become rows, and which are only counted: nobody may fill the record.

A request that is refused at the door costs its sender nothing, so a flood of them must cost the record as
little: of each kind the first are rows, then a few, and all others together are one row of `gaps` with their
exact number. The same goes for what a server says out of turn or during a call, only that a server is the
operator's own.
"""

import threading
from dataclasses import dataclass

from callgate.model.events import Aside
from callgate.model.exchange import Exchange
from callgate.recorder.losses import Loss
from callgate.recorder.rows import GapRow

# How often the number of those that were only counted is written down. A crash costs the last of them.
_TELL_EVERY_S = 10.0
_WHAT = "counted, not recorded one by one"


@dataclass(frozen=True, slots=True)
class Rate:
    burst: int
    per_s: float


# Enough to see what a client does wrong; 17,000 rows a day of each code at the worst, some megabytes.
AT_THE_DOOR = Rate(100, 1 / 5)
# A server that tells of changed resources all day is busy, not hostile.
OF_A_SERVER = Rate(1000, 20.0)
# Progress and log lines of calls: what somebody asked for, so a talkative server keeps all of them.
DURING_CALLS = Rate(5000, 100.0)


class _Kind:
    """A bucket of rows still to be had, refilled as time goes by."""

    __slots__ = ("_left", "_rate", "_since_mono", "over")

    def __init__(self, rate: Rate, now_mono: float) -> None:
        self._rate = rate
        self._left = float(rate.burst)
        self._since_mono = now_mono
        self.over = Loss(_WHAT)

    def take(self, now_mono: float) -> bool:
        rate = self._rate
        self._left = min(rate.burst, self._left + (now_mono - self._since_mono) * rate.per_s)
        self._since_mono = now_mono
        if self._left < 1:
            return False
        self._left -= 1
        return True


class Asides:
    """`admit` on the loop's thread, `take_counted` on the recorder's."""

    def __init__(self) -> None:
        self._kinds: dict[str, _Kind] = {}  # by what they are called: error codes, servers
        self._lock = threading.Lock()
        self._told_mono = 0.0
        self._is_over = False

    def admit(self, aside: Aside, now_mono: float) -> bool:
        """Whether it becomes a row; if not, it was counted."""
        if aside.sender == "server":
            label = aside.server_name or "notifications"
            return self._admit(OF_A_SERVER, f"said by {label}", aside.at_s, now_mono)
        if aside.sender == "operator":
            return True
        label = aside.settlement.error_code or "notifications"
        return self._admit(AT_THE_DOOR, label, aside.at_s, now_mono)

    def admit_notice(self, notice: Exchange, now_mono: float) -> bool:
        """Likewise. A client's own are all kept: each is a request of its own."""
        if notice.sender != "server":
            return True
        label = f"said during calls by {notice.server_name}"
        return self._admit(DURING_CALLS, label, notice.opened_at, now_mono)

    def _admit(self, rate: Rate, label: str, at_s: float, now_mono: float) -> bool:
        with self._lock:
            kind = self._kinds.get(label)
            if kind is None:
                kind = self._kinds[label] = _Kind(rate, now_mono)
            if kind.take(now_mono):
                return True
            kind.over.add(at_s, label)
            self._is_over = True
            return False

    def take_counted(self, now_mono: float, *, at_once: bool) -> list[GapRow]:
        """`at_once`: somebody reads the record, or it is the end."""
        if not self._is_over or not (at_once or now_mono - self._told_mono >= _TELL_EVERY_S):
            return []
        self._told_mono = now_mono
        rows: list[GapRow] = []
        with self._lock:
            self._is_over = False
            for kind in self._kinds.values():
                if kind.over.count:
                    rows.append(kind.over.row())
                    kind.over = Loss(_WHAT)
        return rows
