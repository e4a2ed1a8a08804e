"""Did you mean …? Pure: a word and the words that would have been right.

Must not know what the words are for.
"""

from collections.abc import Iterable
from difflib import get_close_matches


def nearest(word: str, known: Iterable[str]) -> str | None:
    """`readOnly`, `read-only` and `redonly` all lead to `read_only`: spelling habits are not distance."""
    by_plain = {_plain(candidate): candidate for candidate in known}
    found = get_close_matches(_plain(word), list(by_plain), n=1, cutoff=0.6)
    return by_plain[found[0]] if found else None


def did_you_mean(word: str, known: Iterable[str]) -> str:
    found = nearest(word, known)
    return f'Did you mean "{found}"?' if found is not None else ""


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")
