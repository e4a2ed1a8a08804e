"""What could not be kept, counted exactly until the record can say so itself."""

import msgspec

from callgate.recorder.rows import GapRow, micros


class Loss(msgspec.Struct):
    """A gap that still grows."""

    what: str
    since: int = 0
    until: int = 0
    count: int = 0
    reasons: dict[str, None] = {}  # in their order, each once

    def add(self, at_s: float, reason: str) -> None:
        at = micros(at_s)
        self.since = min(self.since, at) if self.count else at
        self.until = max(self.until, at)
        self.count += 1
        self.reasons[reason] = None

    def row(self) -> GapRow:
        return GapRow(self.since, self.until, self.count, f"{self.what}: {', '.join(self.reasons)}")


class Losses(msgspec.Struct):
    bodiless: Loss = msgspec.field(default_factory=lambda: Loss("recorded without bodies"))
    missing: Loss = msgspec.field(default_factory=lambda: Loss("not recorded"))

    def rows(self) -> list[GapRow]:
        if not self.bodiless.count and not self.missing.count:
            return []
        return [loss.row() for loss in (self.bodiless, self.missing) if loss.count]
