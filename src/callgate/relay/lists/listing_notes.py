"""What the operator is to know of a server's lists: what is left out, what is called otherwise, and which
rules of its entry fit nothing."""

from collections.abc import Iterator, Sequence

from callgate.model.wording import clip
from callgate.relay.lists.catalog import Part

_MAX_NAMED = 5
_MAX_NAME_CHARS = 100


def listing_notes(parts: Sequence[Part], what: str) -> list[str]:
    """`parts`: what one server lists of one kind, in each view. `what`: "tools", "prompts"."""
    return [*_unused_rules(parts), *dict.fromkeys(note for part in parts for note in _notes(part, what))]


def _unused_rules(parts: Sequence[Part]) -> Iterator[str]:
    """A rule that fits a tool in one view is in use: some tools are listed to some clients only."""
    first, *others = parts or [Part("")]
    for rule in first.unused_rules:
        if all(rule in other.unused_rules for other in others):
            name = clip(rule.name, _MAX_NAME_CHARS)
            yield f'{rule.key}: "{name}" fits no tool that {first.upstream} lists'


def _notes(part: Part, what: str) -> Iterator[str]:
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
