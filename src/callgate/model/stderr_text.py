"""Which line of a program's stderr says what is wrong. Pure.

The last line seldom does: npm ends with the path of its log file, Node with its version, and under a Python
traceback stands whatever was logged afterwards.
"""

import re
from collections.abc import Sequence

# The line that ends a Python traceback (in a group each line begins with a bar), and Node's own: the class of
# the exception, then what it says. The class may stand alone, with no message.
_EXCEPTION = re.compile(
    r"(?:\|\s*)*(?:Uncaught )?[\w.$]*(?:Error|Exception|SystemExit|KeyboardInterrupt)(?: \[\w+\])?(?::\s.*)?"
)
_LOOKS_WRONG = re.compile(
    r"error|fatal|panic|failed|denied|not found|no such|\b404\b|\bcannot\b|\bcan't\b", re.IGNORECASE
)
_SAYS_LITTLE = re.compile(
    r"npm (?:error|ERR!)(?: (?:\d+|code|errno|syscall|path)\b\s*\S*)?"  # the rest of npm's table
    r"|.*\b(?:complete log|debug log|log file)\b.*"
    r"|Node\.js v\S+"
    r"|.*\bTraceback \(most recent call last\):"
    r"|(?:npm )?\W*warn(?:ing)?\b.*"
    r"|(?:throw|raise)\b.*",  # the line of source that Node and Python quote
    re.IGNORECASE,
)


def telling_line(lines: Sequence[str]) -> str:
    """The line to quote when there is room for one; empty if none has any text.

    The last exception; else the first line that looks like an error; else the last line. Lines may have been
    stripped, so how far one is indented says nothing.
    """
    said = [line for line in lines if line.strip()]
    if exceptions := [line for line in said if _EXCEPTION.fullmatch(line.strip())]:
        return exceptions[-1]
    wrong = (line for line in said if _LOOKS_WRONG.search(line) and not _SAYS_LITTLE.fullmatch(line.strip()))
    return next(wrong, said[-1] if said else "")


def quoted(lines: Sequence[str]) -> str:
    """For the end of a sentence about the program; empty if it said nothing."""
    line = telling_line(lines)
    return f" (stderr: {line})" if line else ""
