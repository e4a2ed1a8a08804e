"""The gate in front of everything: Host, Origin, bearer token. Header values in, a principal out.

Order: Host first (a rebound DNS name must learn nothing), then the web page that asks (`Origin`, and
`Sec-Fetch-Site` where a browser sends no Origin), then the token. All are for HTTP; a local pipe or socket is
guarded by the file system.
"""

import hmac
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache

from callgate.model.error_codes import REFUSED_HOST, REFUSED_ORIGIN, REFUSED_UNAUTHENTICATED
from callgate.model.errors import RefusedError
from callgate.model.identity import LOCAL, Principal, token_hash_of

# RFC 9110, 7.2: a name or an address, and a port. Anything else is no host, and is not read in parts.
_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[^\[\]:@/?#,%\s\\]+)(?::[0-9]{0,5})?")
# "same-site" is not our own page: to a browser every port of localhost is the same site.
_OUR_SITE = ("same-origin", "none")
HOW_TO_SEND_ONE = "Send Authorization: Bearer <one of [server] tokens, or of [principals]>"
LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "[::1]"})


@dataclass(frozen=True, slots=True)
class BearerToken:
    """What we keep of a bearer token: its digest, so that comparing takes the same time for any guess."""

    token_hash: str
    principal: Principal
    expires_s: float | None = None  # wall clock; None: never

    @classmethod
    def of(cls, secret: str, principal: Principal, expires_s: float | None = None) -> "BearerToken":
        return cls(token_hash_of(secret), principal, expires_s)


class MissingTokenError(RefusedError):
    def __init__(self, message: str = "A bearer token is needed") -> None:
        super().__init__(REFUSED_UNAUTHENTICATED, message, hint=HOW_TO_SEND_ONE)


class WrongTokenError(MissingTokenError):
    """Somebody's guess, or a mistake."""

    def __init__(self) -> None:
        super().__init__("The bearer token is not valid")


class ExpiredTokenError(MissingTokenError):
    def __init__(self) -> None:
        super().__init__("The bearer token has expired")


@dataclass(frozen=True, slots=True)
class GateRules:
    # None: any Host will do. Only right where a token is asked for, which a rebound page cannot know.
    hosts: frozenset[str] | None
    origins: frozenset[str]
    tokens: tuple[BearerToken, ...]
    # Who comes without a token, where there are some; None: nobody may. Without any token all are `LOCAL`.
    local: Principal | None = None

    def next_expiry_s(self, now_s: float) -> float | None:
        expiries_s = [one.expires_s for one in self.tokens if one.expires_s is not None]
        return min((one for one in expiries_s if one > now_s), default=None)


def admit(rules: GateRules, fields: Mapping[str, str], now_s: float) -> Principal:
    """Raises RefusedError."""
    check_site(rules, fields)
    if "sec-fetch-site" in fields:
        check_page(rules, fields)
    return identify(rules, fields, now_s)


def check_site(rules: GateRules, fields: Mapping[str, str]) -> None:
    """Host and Origin: what everything asks, the page's own files too."""
    host = fields.get("host", "").lower()
    name = host if rules.hosts is None and "host" not in fields else host_name(host)
    if name is None or (rules.hosts is not None and name not in rules.hosts):
        raise RefusedError(
            REFUSED_HOST,
            f"Host {host[:100]!r} is not a name of this gateway",
            hint="Use the address the gateway printed, or add the name to [server] allowed_hosts",
        )
    origin = fields.get("origin")
    own_pages = (f"http://{host}", f"https://{host}")
    if origin is not None and origin.lower() not in own_pages and origin.lower() not in rules.origins:
        raise RefusedError(
            REFUSED_ORIGIN,
            f"Origin {origin[:100]!r} may not call this gateway",
            hint="Add it to [server] allowed_origins if it is yours",
        )


def check_target(target: str, fields: Mapping[str, str]) -> None:
    """A target in absolute form names a host too (RFC 9112, 3.2.2): it must be the one that was checked."""
    if target == "*":
        return
    scheme, _, rest = target.partition("://")
    authority = re.split(r"[/?#]", rest, maxsplit=1)[0]
    if scheme.lower() not in ("http", "https") or authority.lower() != fields.get("host", "").lower():
        raise RefusedError(
            REFUSED_HOST,
            f"The target {target[:100]!r} names another host than the Host header",
            hint="Send the path alone",
        )


def check_page(rules: GateRules, fields: Mapping[str, str]) -> None:
    """Not for the page's own files: a link on another site may lead to them. A browser sends no Origin with a
    plain GET, but says (to loopback and over TLS) whose page asks. One whose Origin was named may."""
    site = fields["sec-fetch-site"]
    if site not in _OUR_SITE and fields.get("origin", "").lower() not in rules.origins:
        raise RefusedError(
            REFUSED_ORIGIN,
            f"A web page of another origin may not call this gateway (Sec-Fetch-Site is {site[:40]!r})",
            hint="Add its origin to [server] allowed_origins if it is yours",
        )


def identify(rules: GateRules, fields: Mapping[str, str], now_s: float) -> Principal:
    """Raises MissingTokenError."""
    if not rules.tokens:
        return rules.local or LOCAL
    if "authorization" not in fields and rules.local is not None:
        return rules.local
    scheme, _, secret = fields.get("authorization", "").partition(" ")
    secret = secret.strip()
    if scheme.lower() != "bearer" or not secret:
        raise (MissingTokenError if not secret else WrongTokenError)()
    return bearer_of(rules, secret, now_s)


def bearer_of(rules: GateRules, secret: str, now_s: float) -> Principal:
    """Whose token this is. Raises MissingTokenError."""
    given = token_hash_of(secret)
    found: BearerToken | None = None
    for token in rules.tokens:  # all of them, always: how many were compared tells nothing
        if hmac.compare_digest(token.token_hash, given):
            found = token
    if found is None:
        raise WrongTokenError
    if found.expires_s is not None and found.expires_s <= now_s:
        raise ExpiredTokenError
    return found.principal


class Gate:
    """The rules that hold now: they change while we serve, and tokens expire."""

    def __init__(self, rules: GateRules) -> None:
        # Who has let somebody in asks again: whoever may not come any more, or comes with another role, goes.
        self.on_use: list[Callable[[], None]] = []
        self.use(rules)

    def use(self, rules: GateRules) -> None:
        """Whom the gate lets in from now on."""
        self.rules = rules
        self._next_expiry_s = rules.next_expiry_s(time.time())
        for ask_again in self.on_use:
            ask_again()

    def has_expired_one(self) -> bool:
        """Whether a token has expired since the rules were looked at: `use` them again."""
        return self._next_expiry_s is not None and self._next_expiry_s <= time.time()

    def bearer(self, secret: str) -> Principal:
        """Whose token this is, of a client that does not come by HTTP. Raises RefusedError."""
        rules = self.rules
        return bearer_of(rules, secret, time.time()) if rules.tokens else rules.local or LOCAL

    def still_admits(self, fields: Mapping[str, str], principal: Principal) -> bool:
        """Whether who was let in with these fields would be, as the same principal with the same role."""
        return _is_still(principal, lambda: identify(self.rules, fields, time.time()))

    def still_bears(self, secret: str, principal: Principal) -> bool:
        """The same of a client that does not come by HTTP."""
        return _is_still(principal, lambda: self.bearer(secret))


def _is_still(principal: Principal, asked: Callable[[], Principal]) -> bool:
    try:
        now = asked()
    except RefusedError:
        return False
    return now == principal and now.role is principal.role


@lru_cache(maxsize=256)  # a client sends the same one with every request
def host_name(host: str) -> str | None:
    """The Host header without its port; IPv6 keeps its brackets. None: it is no host."""
    match = _HOST.fullmatch(host)
    return match[1] if match else None
