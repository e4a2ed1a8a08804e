"""Which replica an arrival of a modern client belongs to, and sessions that change their replica.

Asked before an exchange is opened: only the replica that serves a request records it.

Rules
1. A retry of a parked call belongs to the replica that holds the call.
2. A request to a server that keeps state belongs to the home of its session: calls, reads, lists and
   subscriptions, because a process may change its lists while it runs. While it is not known what the server
   is, it is served where it came.
3. On the aggregate only a name says whose a request is. What has none (lists, subscriptions, resources, tools
   that are named in arguments) belongs to the home as soon as one server keeps state.
4. Everything else is served where it came. Of a session that was not seen here, the directory is asked once.
"""

import time
from collections.abc import Mapping

import msgspec

from callgate.model.envelope import Era
from callgate.model.exchange import Arrival
from callgate.model.identity import Principal
from callgate.model.session import Session
from callgate.ports.homes import AdoptedSession, Homes
from callgate.ports.upstream import StatefulUpstream, Upstream
from callgate.relay.lists.listings import Listings
from callgate.relay.parked_calls import ParkedCalls
from callgate.relay.path import NAMED_METHODS
from callgate.relay.session_book import SessionBook
from callgate.wire.params import call_params

# Answered by us, whatever the servers are.
_ANYWHERE = frozenset({"initialize", "ping", "server/discover"})


class Whereabouts(msgspec.Struct, frozen=True):
    """Implements `ports.SharedSessions`."""

    homes: Homes
    sessions: SessionBook
    parked: ParkedCalls
    listings: Listings
    upstreams: Mapping[str, Upstream]

    def adopt(self, adopted: AdoptedSession, handshake_id: str, principal: Principal) -> Session:
        """A legacy session whose home is gone goes on here."""
        session = self.sessions.adopt(adopted, handshake_id, principal, time.time())
        self.homes.opened(session)
        return session

    def give_up(self, session: Session) -> None:
        """Another replica has this session: it is over here only."""
        self.sessions.end(session, time.time(), goes_on=True)

    async def home_of(self, arrival: Arrival) -> str | None:
        """The other replica that it belongs to; None: here."""
        session = self.sessions.known(arrival, time.time()) or await self.sessions.claim(arrival)
        holder = self.parked.holder_of(arrival)
        if holder is None and self._needs_home(arrival):
            holder = await self.homes.settled_home(session)
        return None if holder == self.homes.gateway else holder

    def is_here(self, session: Session, server: str) -> bool:
        """Whether a call of this session to that server is surely ours to make."""
        return (
            session.era is Era.LEGACY
            or not _keeps_state(self.upstreams.get(server))
            or self.homes.is_here(session)
        )

    def is_held(self, arrival: Arrival) -> bool:
        """It continues a call that another replica has open: what it wants ends with that process."""
        return self.parked.holder_of(arrival) is not None

    async def after_loss(self, arrival: Arrival, gone: str) -> str | None:
        """The same, once that replica is gone. What it held is gone with it: we say so ourselves."""
        if self.is_held(arrival):
            return None
        home = await self.homes.take(self.sessions.of(arrival, time.time()), gone)
        return None if home == self.homes.gateway else home

    def _needs_home(self, arrival: Arrival) -> bool:
        if arrival.method in _ANYWHERE:
            return False
        server = arrival.target
        if server is None and arrival.method in NAMED_METHODS:
            params = call_params(arrival.params)
            server = self.listings.server_of(params.name) if params is not None else None
        if server is not None:
            return _keeps_state(self.upstreams.get(server))
        return any(map(_keeps_state, self.upstreams.values()))


def _keeps_state(upstream: Upstream | None) -> bool:
    return isinstance(upstream, StatefulUpstream) and upstream.keeps_state()
