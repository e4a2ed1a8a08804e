"""What we offer to clients, and where each offer leads."""

from dataclasses import dataclass
from enum import Enum

import msgspec

from callgate.model.envelope import Era


class OfferKind(Enum):
    """The kinds of offers: the method that lists them, the member of its result, the one that names each."""

    TOOL = ("tools/list", "tools", "name")
    PROMPT = ("prompts/list", "prompts", "name")
    RESOURCE = ("resources/list", "resources", "uri")
    TEMPLATE = ("resources/templates/list", "resourceTemplates", "uriTemplate")

    def __init__(self, method: str, member: str, key: str) -> None:
        self.method = method
        self.member = member
        self.key = key

    # Enum's own is Python code, and every call looks for what is known by its kind.
    __hash__ = object.__hash__


KIND_BY_METHOD = {kind.method: kind for kind in OfferKind}


class Route(msgspec.Struct, frozen=True):
    upstream: str
    native_name: str  # a name, a uri or a uri template


@dataclass(frozen=True, slots=True)
class Offer:
    """A tool, prompt, resource or template as a client of the aggregate sees it.

    Everything but its name is the upstream's own bytes.
    """

    kind: OfferKind
    public_name: str
    route: Route
    definition: bytes  # raw JSON object with the public name
    annotations: bytes | None = None  # raw JSON object; None when the upstream declared none
    may_want_headers: bool = True  # whether to look in the definition for arguments that headers repeat
    era: Era | None = None  # whose words the definition is in; None: both eras'
    definition_across: bytes | None = None  # for clients of the other era; None: the same

    def definition_in(self, era: Era) -> bytes:
        """Without what only the other era knows."""
        across = self.definition_across
        return self.definition if across is None or self.era in (None, era) else across
