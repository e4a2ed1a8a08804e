"""What becomes of a request that is passed on to a replica that does not take it."""

from collections.abc import AsyncGenerator
from dataclasses import replace

import pytest
from replicas.test_members import KEY, OTHER, Scene

from callgate.model.errors import UpstreamError
from callgate.model.identity import LOCAL
from callgate.ports.peers import (
    Headers,
    HomeGoneError,
    NotSentError,
    PassedAnswer,
    PassedCall,
    PassedReceiver,
    PassedRequest,
)
from callgate.replicas.directory import Member
from callgate.replicas.hop_client import HopClient
from callgate.replicas.hop_seal import HopSeal

REQUEST = PassedRequest("POST", "/mcp", [], b"{}", LOCAL, None)


class Refusal:
    """What the gate of another replica answers."""

    status = 403
    headers: Headers = ()

    async def pieces(self) -> AsyncGenerator[bytes]:
        yield b"{}"


class Way:
    """To a replica that refuses what is not for it, or to nobody."""

    def __init__(self, problem: Exception | None = None) -> None:
        self.problem = problem

    async def send(self, address: str, payload: bytes) -> PassedAnswer:
        if self.problem is not None:
            raise self.problem
        return Refusal()

    def begin(self, address: str, payload: bytes, receiver: PassedReceiver) -> PassedCall:
        raise AssertionError("nobody begins here")


@pytest.fixture
async def scene() -> Scene:
    scene = Scene()
    await scene.other()
    await scene.watched_for(60)
    return scene


def client_of(scene: Scene, problem: Exception | None = None) -> HopClient:
    return HopClient(scene.members, HopSeal(KEY), Way(problem))


async def test_a_home_whose_address_another_process_has_is_gone(scene: Scene) -> None:
    client = client_of(scene)
    answer = await client.pass_on(OTHER, REQUEST)
    assert answer.status == 403  # it lives, and refused it: its reason is passed back
    (old,) = scene.told.rows
    successor = Scene()
    await successor.members.start(lambda: old.said.address)
    await successor.members.leave()
    said = replace(successor.members.me, state="serving")
    scene.told.rows = [old, Member(said, old.started_at + 1, 0.0)]
    with pytest.raises(HomeGoneError):
        await client.pass_on(OTHER, REQUEST)
    assert dict(client.outcomes) == {"refused": 2, "gone": 1}


async def test_a_call_is_gone_with_the_process_that_held_it_and_a_session_is_not_yet(scene: Scene) -> None:
    client = client_of(scene, NotSentError(is_refused=True))
    with pytest.raises(UpstreamError) as caught:
        await client.pass_on(OTHER, REQUEST)
    assert caught.value.code.code == "upstream.replica_unreachable"
    with pytest.raises(HomeGoneError):
        await client.pass_on(OTHER, REQUEST, is_held=True)


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_call_is_not_given_up_while_it_may_be_held(scene: Scene, is_away: bool) -> None:
    """Its holder only does not answer, or nobody can be asked."""
    scene.told.is_away = is_away
    client = client_of(scene, NotSentError(is_refused=is_away))
    with pytest.raises(UpstreamError):
        await client.pass_on(OTHER, REQUEST, is_held=True)
