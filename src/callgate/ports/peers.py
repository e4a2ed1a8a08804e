"""Edge passes a whole request on to another replica, and asks whether one that came from there is genuine."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from callgate.model.identity import Principal

HOP_HEADER = "callgate-hop"

Headers = Sequence[tuple[str, str]]  # names in lower case


@dataclass(frozen=True, slots=True)
class PassedRequest:
    """One request of a client: as it came, without its credentials and what belongs to its connection."""

    method: str
    path: str
    headers: Headers
    body: bytes
    principal: Principal | None  # None: nobody in particular, at a path that is open to everyone
    peer: str | None  # the client's address


class PassedAnswer(Protocol):
    @property
    def status(self) -> int: ...

    @property
    def headers(self) -> Headers: ...

    def pieces(self) -> AsyncGenerator[bytes]:
        """The body as it comes. Raises UpstreamError when it breaks off. Closing it early hangs up."""
        ...


class HomeGoneError(Exception):
    """The replica that was to be asked is gone; nothing was sent to it."""


class Peers(Protocol):
    async def pass_on(self, home: str, request: PassedRequest) -> PassedAnswer:
        """Once. Raises HomeGoneError; UpstreamError where the home cannot be reached, or was lost while it
        had the request. Cancelling hangs up."""
        ...


@dataclass(frozen=True, slots=True)
class SignedHop:
    """A request that says it comes from another replica, its signature checked."""

    principal: Principal | None
    peer: str | None
    digest: str


class HopGate(Protocol):
    def admit(self, fields: Mapping[str, str]) -> SignedHop:
        """At the end of the head. Raises RefusedError."""
        ...

    def check(self, hop: SignedHop, request: PassedRequest) -> None:
        """When all of it is there. Raises RefusedError."""
        ...


class Lead(Protocol):
    """The worker that has the record's store, and answers for all: the page, the API, health and metrics."""

    async def pass_on(self, request: PassedRequest) -> PassedAnswer:
        """Waits a moment while it is started again. Raises UpstreamError."""
        ...


class OtherWorkers(Protocol):
    """As that worker asks the others how they are."""

    async def ask(self, path: str, principal: Principal | None) -> Mapping[int, bytes | None]:
        """What each of them answers to a GET, by its number. None: it did not answer in time."""
        ...


class PeerTransport(Protocol):
    """How bytes get to another replica."""

    async def send(self, address: str, payload: bytes) -> PassedAnswer:
        """Once; returns with the head of the answer. Raises NotSentError, and UpstreamError when it broke."""
        ...


class NotSentError(Exception):
    """There was no connection to send anything on."""

    def __init__(self, *, is_refused: bool) -> None:
        super().__init__()
        self.is_refused = is_refused  # nobody listens there, as opposed to: nothing was heard
