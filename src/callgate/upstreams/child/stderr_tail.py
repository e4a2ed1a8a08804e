"""The last words of a child: what is kept of its stderr, and how it looks when it is shown.

Owns the bound on memory: a child may flood its stderr for weeks, and what is kept stays the same size. Must
not know processes: it is fed chunks and asked for lines.
"""

import re
from collections import deque
from typing import Final

# A Python or Node traceback with its message fits; a page shows it without scrolling for ever.
MAX_LINES: Final = 50
# A sentence, not a dump: some servers write whole requests on one line.
MAX_LINE_CHARS: Final = 500

_UTF8_BYTES: Final = 4  # the longest character, so that cutting bytes early never costs a shown character
_ANSI_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?)")


class StderrTail:
    """Work is done per chunk, and lines are decoded when somebody looks: a flood must not cost the loop."""

    def __init__(self, max_lines: int = MAX_LINES, max_line_chars: int = MAX_LINE_CHARS) -> None:
        self._max_line_chars = max_line_chars
        self._max_line_bytes = max_line_chars * _UTF8_BYTES
        self._lines: deque[bytes] = deque(maxlen=max_lines)
        self._max_lines = max_lines
        self._unfinished = b""

    def feed(self, data: bytes) -> None:
        # From the right: of a long chunk only its last lines matter, and the head is dropped in one piece.
        head, *lines = data.rsplit(b"\n", self._max_lines + 1)
        if len(lines) <= self._max_lines:
            self._unfinished += head[: self._max_line_bytes - len(self._unfinished)]
            if not lines:
                return
            lines.insert(0, self._unfinished)
        self._unfinished = lines.pop()[: self._max_line_bytes]
        self._lines.extend(line[: self._max_line_bytes] for line in lines if line.strip())

    @property
    def kept_bytes(self) -> int:
        return sum(map(len, self._lines)) + len(self._unfinished)

    def lines(self) -> list[str]:
        """Oldest first; an unfinished last line counts, since a crash often leaves one."""
        shown = [line for raw in (*self._lines, self._unfinished) if (line := self._shown(raw))]
        return shown[-self._max_lines :]

    def _shown(self, raw: bytes) -> str:
        """Safe on a terminal and on a page: no colour codes, no control or direction-changing characters."""
        text = _ANSI_SEQUENCE.sub("", raw.decode(errors="replace"))
        printable = (c if c.isprintable() else " " if c.isspace() else "" for c in text)
        return "".join(printable).strip()[: self._max_line_chars]
