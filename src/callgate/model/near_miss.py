"""Did you mean …? Pure: a word and the words that would have been right.

Must not know what the words are for.
"""

from collections.abc import Iterable
from difflib import get_close_matches

# Comparing costs: past this many names, or for a name no person would type, there is no suggestion.
_MAX_COMPARED = 1_000
_MAX_COMPARED_CHARS = 200
# Of several candidates the reader picks one, so they may be further off than a single word we propose.
_ALIKE = 0.5
_VERY_ALIKE = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """`readOnly`, `read-only` and `redonly` all lead to `read_only`: spelling habits are not distance."""
    return next(iter(_close(word, known, 1, _VERY_ALIKE)), None)


def near_names(word: str, known: Iterable[str]) -> list[str]:
    """At most three, the nearest first."""
    return _close(word, known, 3, _ALIKE)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    found = nearest(word, known)
    return f'Did you mean "{found}"?' if found is not None else ""


def did_you_mean_one_of(word: str, known: Iterable[str]) -> str:
    found = near_names(word, known)
    return f"Did you mean {' or '.join(found)}?" if found else ""


def _close(word: str, known: Iterable[str], most: int, cutoff: float) -> list[str]:
    by_plain = {_plain(candidate): candidate for candidate in known}
    if len(word) > _MAX_COMPARED_CHARS or len(by_plain) > _MAX_COMPARED:
        return []
    found = get_close_matches(_plain(word), list(by_plain), n=most, cutoff=cutoff)
    return [by_plain[plain] for plain in found]


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")
