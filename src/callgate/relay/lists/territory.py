"""Which upstream owns the address of a resource, even if others list it. Pure.

Rules
1. The scheme of a built-in source is its own. What another server lists under it is offered with that
   server's name in front (`evil+sqlite://shop/orders`), and the server is never asked for the plain address.
2. An address that begins with the name of a server and `+` is that server's: so are its public addresses.
3. For any other address the operator's order decides: the first server that lists it, or has a template with
   that very scheme for it. A template without a scheme (`{+x}`) fits everything, and so comes last.
"""

import re
from collections.abc import Mapping, Sequence

# Wider than RFC 3986: the name of a server in front may begin with a digit and contain `_`.
_SCHEME = re.compile(r"[A-Za-z0-9][A-Za-z0-9+._-]*(?=:)")
# Blanks and what is not seen. Browsers and clients take them out of an address, so they hide no scheme here.
_UNSEEN = re.compile(
    "[\\s\x00-\x20\x7f-\xa0\xad\u034f\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)


def scheme_of(address: str) -> str | None:
    """Of a uri or a uri template; None when a template leaves it open."""
    head = address.partition("{")[0]
    found = _SCHEME.match(head) or _SCHEME.match(_UNSEEN.sub("", head))
    return found[0].lower() if found is not None else None


class Territory:
    def __init__(self, upstreams: Sequence[str], schemes: Mapping[str, frozenset[str]] | None = None) -> None:
        """`upstreams`: in the operator's order. `schemes`: those that are an upstream's own."""
        self._rank = {name: at for at, name in enumerate(upstreams)}
        self._by_scheme: dict[str, frozenset[str]] = {}
        for upstream, own in (schemes or {}).items():
            for scheme in own:
                self._by_scheme[scheme] = self._by_scheme.get(scheme, frozenset()) | {upstream}

    def __contains__(self, upstream: object) -> bool:
        return upstream in self._rank

    def owners(self, address: str) -> frozenset[str] | None:
        """The only upstream that may answer; None: any that lists it. Sources of an engine share a scheme."""
        scheme = scheme_of(address)
        if scheme is None:
            return None
        owners = self._by_scheme.get(scheme)
        if owners is not None:
            return owners
        server, plus, _ = scheme.partition("+")
        return frozenset({server}) if plus and server in self._rank else None

    def rank(self, upstream: str) -> int:
        return self._rank[upstream]

    def with_plain_scheme(self, uri: str) -> str:
        """The scheme of a built-in source as it is listed: a scheme may be written in capitals (RFC 3986)."""
        scheme = scheme_of(uri)
        return scheme + uri[uri.index(":") :] if scheme in self._by_scheme else uri
