"""Passwords that a text spells out in a DSN: scheme://user:password@host.

The text is a caller's, so the scan is by hand and linear in any input: a pattern that looks for the scheme
first tries every letter of a long word as its beginning, with the interpreter's lock held throughout.
"""

import re

MASK = "***"

# Temporary tokens that clouds hand out as passwords have some 2,000 characters. The window keeps one odd
# address from swallowing the rest of a long line up to some unrelated "@".
_WINDOW_CHARS = 8192
_USER = re.compile(r"[^\s\"'`/:]*")
_PORT_AND_SLASH = re.compile(r":\d{2,5}/", re.ASCII)
_HOST_IN_BRACKETS = re.compile(r"\[[0-9A-Fa-f:.]{2,45}\](?::\d{1,5})?/", re.ASCII)
_END_OF_WORD = re.compile(r"[\s\"'`]")


def mask_passwords(text: str) -> str:
    """From the colon after the user to the last "@" of the word: a password may itself hold "/", ":" and "@".

    What is not a password but stands in its place goes too (`redis://host:80/@name`): the two cannot be told
    apart, and only one of the mistakes can be made good. But a port and a slash of HTTP are just that.
    """
    mark = text.find("://")
    parts: list[str] = []
    copied_to = 0  # everything before is in `parts`
    word_end = 0
    searched_to = 0  # no "@" that could still matter lies before: no character is searched twice
    while mark >= 0:
        colon = _end_of_user(text, mark + 3)
        next_from = mark + 3
        if text.startswith(":", colon) and not _is_port(text, mark, colon):
            if word_end <= colon:
                word_end = _end_of_word(text, colon)
            limit = min(word_end, colon + 1 + _WINDOW_CHARS)
            at = text.rfind("@", max(searched_to, colon + 1), limit)
            searched_to = limit
            if at > colon + 1:
                parts += (text[copied_to : colon + 1], MASK)
                copied_to = next_from = at
        mark = text.find("://", next_from)
    return "".join((*parts, text[copied_to:])) if parts else text


def _end_of_user(text: str, start: int) -> int:
    """Stops at the next colon, so at the next "://" at the latest."""
    found = _USER.match(text, start)
    assert found is not None
    return found.end()


def _is_port(text: str, mark: int, colon: int) -> bool:
    """`https://host:8080/path@v2`: no browser would take that for a password."""
    if not text.endswith(("http", "https"), 0, mark):
        return False
    return bool(_PORT_AND_SLASH.match(text, colon) or _HOST_IN_BRACKETS.match(text, mark + 3))


def _end_of_word(text: str, start: int) -> int:
    found = _END_OF_WORD.search(text, start)
    return found.start() if found else len(text)
