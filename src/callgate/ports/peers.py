"""Edge passes a whole request on to another replica, and asks whether one that came from there is genuine."""

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import msgspec

from callgate.model.identity import Principal

HOP_HEADER = "callgate-hop"
# Who asks for what is open to everyone, and is not known. The operator's principals have names.
NOBODY = Principal("")

Headers = Sequence[tuple[str, str]]  # names in lower case


@dataclass(frozen=True, slots=True)
class PassedHead:
    """What is the same for all requests of a client with one head."""

    first: str  # method and path
    lines: bytes  # of the fields that go along, and the empty one
    principal: Principal
    peer: str | None  # the client's address

    @property
    def signed(self) -> bytes:
        """What the signature covers, the body left out."""
        return self.first.encode("latin-1") + b"\r\n" + self.lines


def head_lines(headers: Headers) -> bytes:
    """As they go over the wire. No field has a line break, so no two requests have the same."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers]).encode("latin-1") + b"\r\n"


@dataclass(frozen=True, slots=True)
class PassedRequest:
    """One request of a client: as it came, without its credentials and what belongs to its connection."""

    method: str
    path: str
    headers: Headers
    body: bytes
    principal: Principal
    peer: str | None  # the client's address

    @property
    def head(self) -> PassedHead:
        return PassedHead(f"{self.method} {self.path}", head_lines(self.headers), self.principal, self.peer)


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


class PassedReceiver(Protocol):
    """The part that began to pass a request on. One of these is called, once, unless it was cancelled."""

    def answered(self, status: int, headers: tuple[tuple[str, str], ...], body: bytes) -> None:
        """All of a short answer."""
        ...

    def answers(self, answer: PassedAnswer) -> None:
        """The rest comes in its own time."""
        ...

    def not_sent(self) -> None:
        """Nothing was sent; `pass_on` finds out why."""
        ...

    def lost(self) -> None:
        """The home was lost while it had the request."""
        ...


class PassedCall(Protocol):
    def cancel(self) -> None:
        """Hang up."""
        ...


class Peers(Protocol):
    def begin(self, home: str, head: PassedHead, body: bytes, receiver: PassedReceiver) -> PassedCall | None:
        """The same as `pass_on`, without a task that waits. None: its address is not known; `pass_on` it. The
        receiver hears of it after this has returned."""
        ...

    async def pass_on(self, home: str, request: PassedRequest, *, is_held: bool = False) -> PassedAnswer:
        """Once. Raises HomeGoneError; UpstreamError where the home cannot be reached, or was lost while it
        had the request. Cancelling hangs up. `is_held`: what it wants ends with the home's process, so that
        nobody listens there is enough to know that it is gone."""
        ...


class SignedHop(msgspec.Struct, frozen=True):
    """A request that says it comes from another replica, its signature checked."""

    principal: Principal
    peer: str | None
    digest: str
    nonce: str = ""
    issued_at: float = 0.0


class HopGate(Protocol):
    def judge(self, seal: str, signed: bytes) -> SignedHop | None:
        """Of a whole request: `signed` is its head and body. None: `admit` it, which says what is wrong. A
        good one is to be noted before it is served."""
        ...

    def note(self, hop: SignedHop) -> None:
        """It is served now, and never again."""
        ...

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


class BeginningTransport(PeerTransport, Protocol):
    def begin(self, address: str, payload: bytes, receiver: PassedReceiver) -> PassedCall:
        """The same, told by callbacks."""
        ...


class NotSentError(Exception):
    """There was no connection to send anything on."""

    def __init__(self, *, is_refused: bool) -> None:
        super().__init__()
        self.is_refused = is_refused  # nobody listens there, as opposed to: nothing was heard
