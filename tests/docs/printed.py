"""What a document shows as printed, as a pattern of what may be printed."""

import re

# What differs from run to run. Everything else has to be as it is shown.
_TOLERANT = (
    r"(?P<cut>…)"
    r"|(?P<id>[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
    r"|(?P<moment>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)"
    r"|(?P<ms>\d+(?:\.\d+)?(?= ms))"
    r'|(?P<duration>(?<="durationMs":)\d+(?:\.\d+)?)'
    r"|(?P<space>\s+)"
)
_PATTERNS = {
    "cut": r".*?",
    "id": r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}",
    "moment": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
    "ms": r"\d+(?:\.\d+)?",
    "duration": r"\d+(?:\.\d+)?",
    "space": r"\s*",  # long lines are broken in a document
}


def is_printed(shown: str, printed: str) -> bool:
    """Whether this is what the document shows."""
    pattern, at = "", 0
    for found in re.finditer(_TOLERANT, shown.strip()):
        pattern += re.escape(shown.strip()[at : found.start()]) + _PATTERNS[found.lastgroup or ""]
        at = found.end()
    pattern += re.escape(shown.strip()[at:])
    return re.fullmatch(pattern, printed.strip(), re.DOTALL) is not None
