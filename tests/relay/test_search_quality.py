"""How well the search finds tools of real servers, and how much it says of them."""

import json

import pytest
from relay.real_tools import questions, tools_by_server

from callgate.model.offers import Offer, OfferKind, Route
from callgate.relay.search.search_tools import ToolIndex
from callgate.relay.search.short_tools import short_tools

OFFERS = [
    Offer(OfferKind.TOOL, name, Route(server, tool["name"]), json.dumps({**tool, "name": name}).encode())
    for server, tools in tools_by_server().items()
    for tool in tools
    for name in [f"{server}__{tool['name']}"]
]
INDEX = ToolIndex(OFFERS)
# Among the first three and ten. Before names and texts were ranked apart and words had synonyms: 44 and 54 of
# 65, and 26 and 32 of 35.
BOUNDS = {"tuned_with": (65, 53, 62), "held_out": (35, 29, 33)}


def places(which: str) -> dict[str, int]:
    """By question, the place of the first right tool; 99: not among the first ten."""
    found: dict[str, int] = {}
    for words, right in questions(which):
        names = [offer.public_name for offer in INDEX.find(words, 10)]
        found[words] = next((at for at, name in enumerate(names) if name in right), 99)
    return found


@pytest.mark.parametrize("which", BOUNDS)
def test_most_questions_find_their_tool_among_the_first(which: str) -> None:
    total, in_three, in_ten = BOUNDS[which]
    found = places(which)
    assert len(found) == total
    assert sum(place < 3 for place in found.values()) >= in_three, found
    assert sum(place < 10 for place in found.values()) >= in_ten, found


def test_every_right_answer_exists() -> None:
    known = {offer.public_name for offer in OFFERS}
    named = {name for which in BOUNDS for _, right in questions(which) for name in right}
    assert named <= known


def test_an_answer_is_a_few_kilobytes_whatever_was_found() -> None:
    """Ten whole definitions, twice, were 17 KB in the middle and up to 77."""
    sizes = [
        len(short_tools(INDEX.find(words, 10), len(OFFERS)))
        for which in BOUNDS
        for words, _ in questions(which)
    ]
    assert max(sizes) < 12_000
    assert sum(sizes) / len(sizes) < 6_000


def test_a_short_definition_has_what_a_call_needs() -> None:
    """Each parameter that a schema requires is there and marked, in all 304 definitions."""
    for offer in OFFERS:
        schema = json.loads(offer.definition)["inputSchema"]
        (told,) = json.loads(short_tools([offer], 1))["tools"]
        required = set(schema.get("required", ()))
        marked = {name for name, text in told["parameters"].items() if ", required" in text}
        assert required <= marked | {"…"}, offer.public_name
