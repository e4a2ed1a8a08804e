"""What could not be kept, counted exactly until the record can say so itself."""

from dataclasses import dataclass, field

from callgate.recorder.rows import GapRow, micros


@dataclass(slots=True)
class Loss:
    """A gap that still grows."""

    what: str
    since: int = 0
    until: int = 0
    count: int = 0
    reasons: dict[str, None] = field(default_factory=dict[str, None])  # in their order, each once

    def add(self, at_s: float, reason: str) -> None:
        at = micros(at_s)
        self.since = min(self.since, at) if self.count else at
        self.until = max(self.until, at)
        self.count += 1
        self.reasons[reason] = None

    def row(self) -> GapRow:
        return GapRow(self.since, self.until, self.count, f"{self.what}: {', '.join(self.reasons)}")


@dataclass(slots=True)
class Losses:
    bodiless: Loss = field(default_factory=lambda: Loss("recorded without bodies"))
    missing: Loss = field(default_factory=lambda: Loss("not recorded"))

    def rows(self) -> list[GapRow]:
        return [loss.row() for loss in (self.bodiless, self.missing) if loss.count]
