"""Did you mean …? Pure: a word and the words that would have been right.

Must not know what the words are for.
"""

from collections.abc import Collection, Iterable
from difflib import get_close_matches
from heapq import nlargest
from itertools import islice

# Comparing costs: past this many names, or for a name no person would type, there is no suggestion.
_MAX_COMPARED = 1_000
_MAX_COMPARED_CHARS = 200
# A comparison letter by letter takes up to 0.3 ms. Of many names only those are compared so that share the
# most pairs of letters with the word, which takes a few µs to find out.
_MAX_COMPARED_CLOSELY = 20
# Of several candidates the reader picks one, so they may be further off than a single word we propose.
_ALIKE = 0.5
_VERY_ALIKE = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """`readOnly`, `read-only` and `redonly` all lead to `read_only`: spelling habits are not distance."""
    return next(iter(_close(word, known, 1, _VERY_ALIKE)), None)


def near_names(word: str, known: Iterable[str], max_compared: int = _MAX_COMPARED) -> list[str]:
    """At most three, the nearest first. 6,000 names take 20 ms: only off the event loop."""
    return _close(word, known, 3, _ALIKE, max_compared)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    found = nearest(word, known)
    return f'Did you mean "{found}"?' if found is not None else ""


def did_you_mean_one_of(word: str, known: Iterable[str]) -> str:
    found = near_names(word, known)
    return f"Did you mean {' or '.join(found)}?" if found else ""


def _close(
    word: str, known: Iterable[str], most: int, cutoff: float, max_compared: int = _MAX_COMPARED
) -> list[str]:
    if len(word) > _MAX_COMPARED_CHARS:
        return []
    names = list(islice(known, max_compared + 1))
    if len(names) > max_compared:
        return []
    by_plain = {_plain(name): name for name in names if len(name) <= _MAX_COMPARED_CHARS}
    found = get_close_matches(_plain(word), _likely(_plain(word), by_plain), n=most, cutoff=cutoff)
    return [by_plain[plain] for plain in found]


def _likely(word: str, known: Collection[str]) -> list[str]:
    if len(known) <= _MAX_COMPARED_CLOSELY:
        return list(known)
    pairs = _pairs(word)

    def shared(name: str) -> float:
        other = _pairs(name)
        return len(pairs & other) / (len(pairs) + len(other))

    return nlargest(_MAX_COMPARED_CLOSELY, known, key=shared)


def _pairs(word: str) -> set[str]:
    """With an edge on both sides, so that a word of one letter has some too."""
    padded = f" {word} "
    return {padded[at : at + 2] for at in range(len(word) + 1)}


def _plain(word: str) -> str:
    return word.lower().replace("-", "").replace("_", "").replace(" ", "")
