"""When something is due: a set of keys, each with a moment on the monotonic clock.

Owns the order of the moments; must not know what they mean, nor read a clock. Every operation is O(1) in the
number of entries, because ten thousand requests in flight are normal.

Most entries share a few durations, so there is one lane for each duration: within a lane, later entries are
due later, and the next moment is the least of the lanes' first entries. (A heap costs O(log n), and keeps
what was removed until its moment comes: with answers in milliseconds and time-outs of 30 s, that is nearly
everything.)
"""

import math
from collections import OrderedDict

# Time-outs are written by operators and rarely differ; remainders after a pause and jittered retries always
# do. Past this many lanes a duration joins the lane of the next coarse step instead of opening its own.
_MAX_EXACT_LANES = 32
_COARSE_STEP = 1.1  # so that such an entry is due late by a tenth of its duration at most, never early
_LEAST_COARSE_S = 0.001
# So many lanes stay when they are empty: the next request mostly has the time-out of the one before.
_KEPT_LANES = 8


class Deadlines:
    def __init__(self) -> None:
        # OrderedDict, not dict: the first entry of a dict lies behind the holes of all that were removed
        # before it, and finding it took 4 µs with 9,000 of them, against 0.1 µs.
        self._lanes: dict[float, OrderedDict[int, float]] = {}
        self._lane_of: dict[int, OrderedDict[int, float]] = {}
        self._latest_now = -math.inf

    def __len__(self) -> int:
        return len(self._lane_of)

    def __contains__(self, key: int) -> bool:
        return key in self._lane_of

    def add(self, key: int, duration_s: float, now: float) -> float:
        """The moment at which it will be due. A key can only be in here once."""
        assert key not in self._lane_of, f"{key} already has a deadline"
        # A caller with an older reading of the clock must not break a lane's order.
        if now < self._latest_now:
            now = self._latest_now
        self._latest_now = now
        at = now + duration_s
        lane = self._lanes.get(duration_s)
        if lane is None:
            lane = self._new_lane(duration_s)
            if lane:  # a coarse one
                at = max(at, lane[next(reversed(lane))])
        lane[key] = at
        self._lane_of[key] = lane
        return at

    def _new_lane(self, duration_s: float) -> OrderedDict[int, float]:
        if len(self._lanes) >= _KEPT_LANES:
            self._lanes = {lane_s: lane for lane_s, lane in self._lanes.items() if lane}
        lane_s = duration_s if len(self._lanes) < _MAX_EXACT_LANES else _coarse(duration_s)
        return self._lanes.setdefault(lane_s, OrderedDict())

    def remove(self, key: int) -> None:
        """Leaves nothing behind; a key that is not in here is fine."""
        lane = self._lane_of.pop(key, None)
        if lane is not None:
            del lane[key]

    def at(self, key: int) -> float | None:
        lane = self._lane_of.get(key)
        return None if lane is None else lane[key]

    def next_at(self) -> float | None:
        soonest: float | None = None
        for lane in self._lanes.values():
            at = next(iter(lane.values()), None)
            if at is not None and (soonest is None or at < soonest):
                soonest = at
        return soonest

    def due(self, now: float) -> list[int]:
        """Removes and returns all whose moment has come, the earliest first."""
        due: list[tuple[float, int]] = []
        for lane in self._lanes.values():
            for key, at in lane.items():
                if at > now:
                    break
                due.append((at, key))
        due.sort()
        for _, key in due:
            self.remove(key)
        return [key for _, key in due]


def _coarse(duration_s: float) -> float:
    if duration_s <= _LEAST_COARSE_S:
        return _LEAST_COARSE_S
    return _COARSE_STEP ** math.ceil(math.log(duration_s, _COARSE_STEP))
