"""What the operator decides of all that is offered, and how it is named. Asks nobody.

Both are values: when the servers or the operator's words change, they are made anew and replaced whole.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from callgate.model.offers import OfferKind
from callgate.model.trust import Extent
from callgate.model.view import COMMON, View
from callgate.ports.faces import Faces
from callgate.ports.upstream import Upstream
from callgate.relay.lists.capability_survey import CAPABLE
from callgate.relay.lists.public_names import SEPARATOR, SHORT_SEPARATOR, server_of, short_servers
from callgate.relay.lists.read_listing import ListReading
from callgate.relay.lists.territory import Territory
from callgate.relay.lists.tool_choice import ToolChoice

# More than any person's servers have; `[server] max_offers`.
DEFAULT_MAX_OFFERS = 10_000


@dataclass(frozen=True, slots=True)
class OfferRules:
    deny_destructive: bool = False  # a policy judges by what is listed: an outdated list is as good as none
    briefly_named: str | None = None  # whose names, if anybody's, have one underscore (`public_names`)
    tool_search: bool = False  # tools are found, not listed (`find_tools`)
    max_offers: int = DEFAULT_MAX_OFFERS  # of one server and kind
    tool_choices: Mapping[str, ToolChoice] = field(default_factory=dict[str, ToolChoice])


# Whose definitions are pinned. Resources are what a server keeps: they come and go by themselves.
FACED_KINDS = (OfferKind.TOOL, OfferKind.PROMPT, OfferKind.TEMPLATE)


class Naming:
    """How the offers of these upstreams are named and chosen."""

    def __init__(
        self, upstreams: Mapping[str, Upstream], rules: OfferRules, faces: Faces | None = None
    ) -> None:
        """`faces`: what of the lists may be shown; None: all of it."""
        self._faces = faces
        self._names = dict.fromkeys(upstreams)
        self.rules = rules
        # Of upstreams of which the operator leaves tools out.
        self.choices = {name: one for name, one in rules.tool_choices.items() if not one.takes_all}
        self._short = short_servers(upstreams)
        self._by_short_name = {short: name for name, short in self._short.items()}
        self.schemes = {name: upstream.schemes for name, upstream in upstreams.items()}
        self.territory = Territory(list(upstreams), self.schemes)
        self._marks = {name: hash((name, own)) for name, own in self.schemes.items()}
        self._all_marks = 0
        for mark in self._marks.values():
            self._all_marks ^= mark

    def server_of(self, public_name: str) -> str | None:
        """Whose a tool or prompt of that name would be."""
        server = server_of(public_name, self._names, self._by_short_name)
        if server is not None:
            return server
        brief = self.rules.briefly_named
        return brief if brief and public_name.startswith(f"{brief}{SHORT_SEPARATOR}") else None

    def check_chosen(self, public_name: str) -> None:
        """Of a tool that is in no catalog: raises RefusedError if that is the operator's choice."""
        server = self.server_of(public_name)
        choice = self.choices.get(server) if server is not None else None
        if server is not None and choice is not None:
            choice.check(server, public_name.partition(SEPARATOR)[2])

    def faces_of(self, name: str) -> Faces | None:
        """None: what this server says passes as it comes."""
        faces = self._faces
        return faces if faces is not None and faces.mode_of(name) != "free" else None

    def reading(self, name: str, kind: OfferKind, view: View = COMMON) -> ListReading:
        extent: Extent = "common" if view == COMMON else "part"
        if kind is OfferKind.TOOL and view == CAPABLE:
            extent = "capable"
        separator = SHORT_SEPARATOR if name == self.rules.briefly_named else SEPARATOR
        return ListReading(
            kind,
            name,
            self.territory,
            self.rules.max_offers,
            separator,
            short=self._short[name],
            choice=self.rules.tool_choices.get(name) if kind is OfferKind.TOOL else None,
            faces=self.faces_of(name) if kind in FACED_KINDS else None,
            is_kept=self._faces is not None and kind in FACED_KINDS,
            faces_version=self._faces.version if self._faces is not None else 0,
            extent=extent,
        )

    def reads_alike(self, other: "Naming", name: str, kind: OfferKind) -> bool:
        """Whether this upstream's list of this kind comes out the same by both, which know it."""
        return self.facts(name, kind) == other.facts(name, kind)

    def facts(self, name: str, kind: OfferKind) -> tuple[object, ...]:
        """What its names depend on. The names and schemes of all others are one number: each of thousands of
        servers asks for them."""
        if kind.key != "name":  # addresses stay as they are, unless they are another one's
            return self.rules.max_offers, self._all_marks ^ self._marks[name]
        choice = self.rules.tool_choices.get(name) if kind is OfferKind.TOOL else None
        return (
            self.rules.max_offers,
            name == self.rules.briefly_named,
            self._short[name],
            f"{name}_" in self._names,
            choice.rules if choice is not None else [],
        )
