"""RoundTimes: when journalled rows are to be stored next. Pure: moments, sizes and chance are arguments.

1. A store of our own is brought up to date when nothing was journalled between two looks: then it has the
   machine to itself.
2. While calls come, its rows wait for so many seconds, counted from the first that waits. Storing at the
   beginning of a burst would take the burst's core, and many a burst is over before.
3. A shared store has a round after so many seconds, however busy we are: others read it. Those who share it
   do not all come at once.
4. After a failure the next try waits, longer each time.
"""

from collections.abc import Callable

from callgate.ports.record_store import StoreTraits

# How long a store of our own must have been quiet.
_LOOK_EVERY_S = 0.25
# A quarter more or less, where the store is shared.
_JITTER = 0.25

# A number between two others.
Chance = Callable[[float, float], float]


class RoundTimes:
    def __init__(self, traits: StoreTraits, now_mono: float) -> None:
        self._traits = traits
        self._due_after_s = traits.flush_every_s
        self._retry_s = traits.retry_s[0]
        self._ended_mono = now_mono  # of the last round
        self._empty_mono = now_mono  # when there was last nothing to store
        self._seen_bytes = self._stored_bytes = 0

    def since_round_s(self, now_mono: float) -> float:
        return now_mono - self._ended_mono

    def may_retry(self, now_mono: float) -> bool:
        """After a failure."""
        return self.since_round_s(now_mono) >= self._retry_s

    def is_due(self, journalled_bytes: int, now_mono: float) -> bool:
        """At a look. `journalled_bytes`: of all segments, stored or not."""
        seen_bytes, self._seen_bytes = self._seen_bytes, journalled_bytes
        if journalled_bytes == self._stored_bytes:
            self._empty_mono = now_mono
            return False
        if self._traits.is_shared:
            return self.since_round_s(now_mono) >= self._due_after_s
        waited_s = now_mono - max(self._ended_mono, self._empty_mono)
        return journalled_bytes == seen_bytes or waited_s >= self._due_after_s

    def next_look_s(self, now_mono: float) -> float:
        """A round that becomes due before the next look is not put off to the one after."""
        left_s = self._due_after_s - self.since_round_s(now_mono)
        return left_s if 0 < left_s < _LOOK_EVERY_S else min(_LOOK_EVERY_S, self._due_after_s)

    def stored(self, journalled_bytes: int) -> None:
        """What was journalled when the round began is stored."""
        self._stored_bytes = journalled_bytes

    def not_begun(self, now_mono: float) -> None:
        self._ended_mono = now_mono

    def ended(self, now_mono: float, chance: Chance, *, has_failed: bool, is_watched: bool) -> None:
        """`is_watched`: somebody follows the live stream."""
        self._ended_mono = now_mono
        least, most = self._traits.retry_s
        # Decorrelated: those that lost the store at the same time do not come back at the same time.
        self._retry_s = min(most, chance(least, 3 * self._retry_s)) if has_failed else least
        jitter = chance(1 - _JITTER, 1 + _JITTER) if self._traits.is_shared else 1.0
        watched_s = self._traits.flush_watched_s if is_watched else None
        self._due_after_s = (watched_s or self._traits.flush_every_s) * jitter
