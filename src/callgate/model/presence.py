"""Whether a client is still there, as far as the streams tell that it keeps open."""

from dataclasses import dataclass


@dataclass(slots=True, eq=False)
class Presence:
    """Edge keeps it; whoever holds something for the client alone looks at it."""

    streams: int = 0  # open now
    left_at: float | None = None  # unix seconds at which the last of them closed

    def joined(self) -> None:
        self.streams += 1

    def left(self, now_s: float) -> None:
        self.streams -= 1
        if self.streams == 0:
            self.left_at = now_s
