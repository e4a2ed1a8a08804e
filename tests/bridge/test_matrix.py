"""Every client works with every server: each cell of the matrix by its name.

Client (SDK and era) × way to the gateway × upstream (kind and transport) × feature.
CALLGATE_MATRIX_REPLICAS=3: all cells over HTTP, each request to the next of three replicas behind nginx
(`scripts/conformance --replicas 3 matrix`). A few of them are in tests/replicas/test_sdk_clients.py.
"""

import asyncio
import os
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from bridge.driver_process import DEADLINE_S
from bridge.matrix_stage import MatrixStage, standing_matrix
from bridge.scenarios import FEATURES
from bridge.seat import CLIENTS, MODERN, WAYS, Seat
from bridge.upstream_servers import UPSTREAMS
from conformance.stage import balanced_replicas
from conformance.suite import SuiteError
from locked_packages import InstallError

pytestmark = pytest.mark.asyncio(loop_scope="module")
REPLICAS = int(os.environ.get("CALLGATE_MATRIX_REPLICAS", "1"))


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[MatrixStage]:
    serving = None if REPLICAS == 1 else (lambda entries: balanced_replicas(entries, REPLICAS))
    try:
        async with standing_matrix(tmp_path_factory.mktemp("matrix"), serving) as stage:
            yield stage
    except (InstallError, SuiteError) as problem:
        pytest.fail(str(problem), pytrace=False)  # never a skip: what was not run has not passed


# The last mark is the outermost loop: all that one link is used for comes together.
@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("upstream", UPSTREAMS)
@pytest.mark.parametrize("way", WAYS if REPLICAS == 1 else WAYS[:2])
@pytest.mark.parametrize("client", CLIENTS)
async def test_cell(stage: MatrixStage, client: str, way: str, upstream: str, feature: str) -> None:
    seat = await stage.seat(CLIENTS[client], way, UPSTREAMS[upstream])
    assert (seat.introduced["version"] == MODERN) == seat.is_modern
    await FEATURES[feature](seat)


async def test_all_clients_at_once_each_get_what_is_theirs(stage: MatrixStage) -> None:
    """Both eras and every server at the same time: 150 calls, of which 120 ask."""
    await stage.close()
    ways = {"py1": "http", "py2-handshake": "stdio", "ts1": "http", "py2-auto": "stdio", "ts2": "http"}
    if REPLICAS > 1:
        ways = dict.fromkeys(ways, "http")
    links: list[list[Seat]] = []
    for client, way in ways.items():
        links.append(seats := await stage.seats_of_own(CLIENTS[client], way))
        for seat in seats:  # children start one after the other: what is tried is not how fast they do
            assert await seat.said("ask_name") == "Hello, Ada!"
        await seats[0].questions()

    async def use(seat: Seat) -> None:
        words = [f"{seat.client.name} {seat.upstream.name} {number}" for number in range(4)]
        echo, *said = await asyncio.gather(
            seat.said("echo", text=words[0]), *(seat.said("ask_back", word=word) for word in words)
        )
        assert echo == words[0]
        assert said == [f"{word} is Ada" for word in words]

    await asyncio.gather(*(use(seat) for seats in links for seat in seats))
    for seats in links:
        asked = {question["params"]["message"] for question in await seats[0].questions()}
        own = [f"{seat.client.name} {seat.upstream.name} {n}" for seat in seats for n in range(4)]
        assert asked == {f"A name for {word}?" for word in own}
        await seats[0].do("close")


async def test_one_listener_of_all_servers_is_acknowledged_first_and_hears_each(stage: MatrixStage) -> None:
    """2026-07-28 basic/patterns/subscriptions: nothing before the acknowledgment."""
    uris = {name: f"bridge://{name}/text" for name in UPSTREAMS}
    async with stage.raw_client() as asking:
        wanted = {"resourceSubscriptions": list(uris.values()), "toolsListChanged": True}
        # What it declares decides which child of a server over stdio it gets: the same as the calls below.
        params = {"notifications": wanted, "_meta": asking.meta}
        stream = await asking.send("subscriptions/listen", params, b"77")
        await asyncio.wait_for(stream.read_head(), DEADLINE_S)
        first = await stream.next()
        assert first["method"] == "notifications/subscriptions/acknowledged"
        assert set(first["params"]["notifications"]["resourceSubscriptions"]) == set(uris.values())
        for name, uri in uris.items():
            await asking.ask(f"{name}__touch", {"uri": uri})
        told = [await stream.until_method("notifications/resources/updated") for _ in uris]
        assert {each["params"]["uri"] for each in told} == set(uris.values())
        assert {each["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"] for each in told} == {77}
