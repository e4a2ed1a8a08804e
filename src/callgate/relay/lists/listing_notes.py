"""What the operator is to know of one list: what is left out of it, and what is called otherwise."""

from collections.abc import Iterator, Sequence

from callgate.model.clip import clip
from callgate.relay.lists.catalog import Part

_MAX_NAMED = 5
_MAX_NAME_CHARS = 100


def listing_notes(part: Part, what: str) -> Iterator[str]:
    """`what`: "tools", "prompts"."""
    if part.not_chosen:
        named = _some([clip(name, _MAX_NAME_CHARS) for name in part.not_chosen])
        yield f"{len(part.not_chosen):,} of its {what} are left out, as its entry says: {named}"
    if part.renamed:
        named = _some([f"{clip(native, _MAX_NAME_CHARS)} is {public}" for native, public in part.renamed])
        yield (
            f"{len(part.renamed):,} of its {what} have other names here, since clients take at most 64 "
            f"characters, letters, digits, _ and -: {named}"
        )


def _some(named: Sequence[str]) -> str:
    more = len(named) - _MAX_NAMED
    return ", ".join(named[:_MAX_NAMED]) + (f" and {more:,} more" if more > 0 else "")
