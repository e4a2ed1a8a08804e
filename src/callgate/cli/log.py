"""What the program says on stderr while it runs: a line for each thing, with its time, as text or as JSON.

The text of a line may be a stranger's, and a stranger may cause the same line ten thousand times. So every
line is made safe for a terminal, and a line that repeats is counted instead of written.
"""

import json
import logging
import sys
from collections import OrderedDict
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TextIO

from callgate.model.terminal_text import safe_for_terminal

# Lines of one kind within this time: the first ones are written, the rest counted.
_WINDOW_S = 60.0
_WRITTEN = 5
_MAX_KINDS = 1000
_DATE = "%Y-%m-%d %H:%M:%S"


class LogLevel(StrEnum):
    DEBUG = "debug"
    INFO = "info"
    WARNING = "warning"
    ERROR = "error"


class LogFormat(StrEnum):
    TEXT = "text"
    JSON = "json"


@dataclass(frozen=True, slots=True)
class LogOptions:
    level: LogLevel = LogLevel.WARNING
    format: LogFormat = LogFormat.TEXT


def log_options(level: LogLevel | None, form: LogFormat, quiet: bool) -> LogOptions:
    return LogOptions(level or (LogLevel.WARNING if quiet else LogLevel.INFO), form)


def log_to_stderr(options: LogOptions | None = None, stream: TextIO | None = None) -> None:
    options = options or LogOptions()
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if options.format is LogFormat.JSON else TextLines())
    handler.addFilter(Repeats())
    root = logging.getLogger()
    root.handlers = [handler]
    # Other people's libraries say at `info` what only their authors want to know.
    root.setLevel(max(logging.WARNING, _number(options.level)))
    logging.getLogger("callgate").setLevel(_number(options.level))


def _number(level: LogLevel) -> int:
    return logging.getLevelNamesMapping()[level.value.upper()]


class TextLines(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", _DATE)

    def format(self, record: logging.LogRecord) -> str:
        return safe_for_terminal(super().format(record)).replace("\n", "\n    ")


class JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            line["exception"] = record.exc_text or self.formatException(record.exc_info)
        return safe_for_terminal(json.dumps(line, ensure_ascii=False))


class Repeats(logging.Filter):
    """Lets the first lines of a kind through, and with the first one after a while the count of the others.

    A kind is a message before its values are put in, with the first of them: that is nearly always a name.
    """

    def __init__(self) -> None:
        super().__init__()
        self._kinds: OrderedDict[tuple[str, str, str], _Kind] = OrderedDict()

    def filter(self, record: logging.LogRecord) -> bool:
        first = record.args[0] if isinstance(record.args, tuple) and record.args else ""
        key = (record.name, str(record.msg), str(first)[:100])
        kind = self._kinds.setdefault(key, _Kind(record.created))
        self._kinds.move_to_end(key)
        while len(self._kinds) > _MAX_KINDS:
            self._kinds.popitem(last=False)
        if record.created - kind.since >= _WINDOW_S:
            if kind.left_out:
                record.msg = f"{record.getMessage()} ({kind.left_out} more like it since the last one)"
                record.args = ()
            self._kinds[key] = _Kind(record.created, 1)
            return True
        kind.written += 1
        if kind.written > _WRITTEN:
            kind.left_out += 1
            return False
        return True


@dataclass(slots=True)
class _Kind:
    since: float
    written: int = 0
    left_out: int = 0
