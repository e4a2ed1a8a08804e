"""The worker that has the record's store: how the others reach it, and how it asks the others.

Implements `ports.Lead` and `ports.OtherWorkers`. There is one record and so one process that stores and reads
it; what is asked about the record, or about the gateway as a whole, is passed on to it.
"""

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from callgate.model.error_codes import SETUP_RECORD_ELSEWHERE, UPSTREAM_REPLICA_UNREACHABLE
from callgate.model.errors import SetupError, SourceError, UpstreamError, replica_unreachable, told_by_another
from callgate.model.identity import LOCAL, Principal
from callgate.ports.peers import NOBODY, HomeGoneError, PassedAnswer, PassedRequest, Peers
from callgate.ports.record_queries import Excerpt, RecordExcerpts
from callgate.replicas.directory import DirectoryAwayError
from callgate.replicas.file_directory import FileDirectory

# A worker that died is started again within a second, unless it cannot start.
_PATIENCE_S = 8.0
_LOOK_AGAIN_S = 0.1
# How long the others may take to tell of themselves.
_TELLING_S = 2.0
EXCERPT_PATH = "/workers/excerpt"


class ExcerptRequest(msgspec.Struct, frozen=True):
    """A worker asks the lead for one principal's own calls, in a file that both can read."""

    principal: str
    statements: Sequence[str]


class ExcerptAnswer(msgspec.Struct, frozen=True):
    path: str = ""
    left_out: int = 0
    code: str = ""  # of the error, if there was one: then the rest of it follows
    message: str = ""
    hint: str = ""


async def answer_excerpt(excerpts: RecordExcerpts, body: bytes) -> bytes:
    """What the lead answers at `EXCERPT_PATH`."""
    asked = msgspec.json.decode(body, type=ExcerptRequest)
    try:
        taken = await excerpts.take(asked.principal, asked.statements)
    except (SourceError, SetupError) as error:
        return msgspec.json.encode(
            ExcerptAnswer(code=error.code.code, message=error.message, hint=error.hint)
        )
    return msgspec.json.encode(ExcerptAnswer(str(taken.path), taken.left_out))


class LeadWorker:
    """As the others see it."""

    def __init__(self, directory: FileDirectory, peers: Peers) -> None:
        self._directory = directory
        self._peers = peers

    async def pass_on(self, request: PassedRequest) -> PassedAnswer:
        """A request that may have been sent is not sent again, unless it only asks."""
        deadline = asyncio.get_running_loop().time() + _PATIENCE_S
        while True:
            try:
                lead = await self._directory.lead()
                if lead is not None:
                    return await self._peers.pass_on(lead, request)
            except DirectoryAwayError as problem:
                raise replica_unreachable() from problem
            except HomeGoneError:
                pass
            except UpstreamError as error:
                is_unsent = error.code is UPSTREAM_REPLICA_UNREACHABLE
                if not is_unsent and request.method != "GET":
                    raise
            if asyncio.get_running_loop().time() > deadline:
                raise replica_unreachable()
            await asyncio.sleep(_LOOK_AGAIN_S)

    async def take(self, principal: str, statements: Sequence[str]) -> Excerpt:
        """Implements `ports.RecordExcerpts`."""
        body = msgspec.json.encode(ExcerptRequest(principal, statements))
        try:
            answer = await self.pass_on(PassedRequest("POST", EXCERPT_PATH, (), body, LOCAL, None))
            taken = msgspec.json.decode(await _whole(answer), type=ExcerptAnswer)
        except (UpstreamError, msgspec.DecodeError) as problem:
            raise SetupError(
                SETUP_RECORD_ELSEWHERE,
                "The worker that holds the record cannot be reached",
                hint="Try again in a moment; it is started again when it ends",
            ) from problem
        if not taken.code:
            return Excerpt(Path(taken.path), taken.left_out)
        raise told_by_another(taken.code, taken.message, taken.hint)


class OtherWorkersOf:
    """As the lead sees them."""

    def __init__(self, directory: FileDirectory, peers: Peers, own: str, count: int) -> None:
        self._directory = directory
        self._peers = peers
        self._own = own
        self._count = count

    async def ask(self, path: str, principal: Principal | None) -> Mapping[int, bytes | None]:
        """By their numbers, all but our own. None: it did not answer."""
        found: dict[int, str] = {}
        try:
            for member in await self._directory.members():
                if member.said.state != "left" and member.said.gateway != self._own:
                    found[number_of(member.said.address)] = member.said.gateway
        except DirectoryAwayError:
            pass
        numbers = range(1, self._count)
        request = PassedRequest("GET", path, (), b"", principal or NOBODY, None)
        answers = await asyncio.gather(*(self._one(found.get(number), request) for number in numbers))
        return dict(zip(numbers, answers, strict=True))

    async def _one(self, gateway: str | None, request: PassedRequest) -> bytes | None:
        if gateway is None:
            return None
        try:
            async with asyncio.timeout(_TELLING_S):
                answer = await self._peers.pass_on(gateway, request)
                return await _whole(answer) if answer.status == 200 else None
        except (TimeoutError, HomeGoneError, UpstreamError):
            return None


def number_of(address: str) -> int:
    """Of a worker, by the name of its socket: `<number>.<gateway>.sock`."""
    return int(Path(address).name.partition(".")[0])


def socket_name(number: int, gateway: str) -> str:
    return f"{number}.{gateway}.sock"


async def _whole(answer: PassedAnswer) -> bytes:
    async with aclosing(answer.pieces()) as pieces:
        return b"".join([piece async for piece in pieces])
