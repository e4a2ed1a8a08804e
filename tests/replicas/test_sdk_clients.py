"""The official SDKs' clients at three replicas behind nginx, and while these are restarted and replaced.

All cells of the matrix over HTTP: `scripts/conformance --replicas 3 matrix`. Here are those of an SDK of each
era whose requests belong together.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

import pytest
import pytest_asyncio
from bridge.matrix_stage import MatrixStage, standing_matrix
from bridge.scenarios import FEATURES
from bridge.seat import CLIENTS
from bridge.upstream_servers import UPSTREAMS
from databases.database import Database
from end_to_end.gateway_process import get_json
from locked_packages import InstallError
from waiting import until

from callgate.recorder.stores.postgres.migrations import SCHEMA_VERSION
from replicas.fleet import Fleet, running_fleet
from replicas.sdk_load import NEXT, NEXT_VERSION, Load

pytestmark = pytest.mark.asyncio(loop_scope="module")
SERVERS = ("legacy-stdio", "modern-http")
FEATURES_HERE = (
    "cancellation",
    "logging",
    "subscription: resource",
    "elicitation: amid progress",
    "elicitation, sampling and roots at once",
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage_and_fleet(
    postgres: Database, pgbouncer: Database, tmp_path_factory: pytest.TempPathFactory
) -> AsyncIterator[tuple[MatrixStage, Fleet]]:
    fleets: list[Fleet] = []

    @asynccontextmanager
    async def serving(entries: str) -> AsyncIterator[str]:
        async with running_fleet(postgres, pgbouncer, drain="1s", servers=entries) as fleet:
            fleets.append(fleet)
            yield f"http://127.0.0.1:{fleet.port}"

    folder = tmp_path_factory.mktemp("clients")
    try:
        async with standing_matrix(folder, serving, ("py1", "py2-auto"), SERVERS) as stage:
            yield stage, fleets[0]
    except InstallError as problem:
        pytest.fail(str(problem), pytrace=False)  # never a skip: what was not run has not passed


@pytest.mark.parametrize("feature", FEATURES_HERE)
@pytest.mark.parametrize("upstream", SERVERS)
@pytest.mark.parametrize("client", ["py1", "py2-auto"])
async def test_cell(
    stage_and_fleet: tuple[MatrixStage, Fleet], client: str, upstream: str, feature: str
) -> None:
    stage, _ = stage_and_fleet
    await FEATURES[feature](await stage.seat(CLIENTS[client], "http", UPSTREAMS[upstream]))


async def test_a_restart_and_the_deploy_of_the_next_version_fail_no_call_but_those_under_way(
    stage_and_fleet: tuple[MatrixStage, Fleet],
) -> None:
    """One replica is started again, two are replaced by the next version, whose tables have a column more.
    Each one with both, one round after the other: `scripts/chaos replicas deploy`."""
    stage, fleet = stage_and_fleet
    async with Load(stage, fleet) as load:
        for program in ((), NEXT, NEXT):
            fleet.program = program
            await fleet.replace_first()
            await load.more()
        for replica in fleet.replicas:  # both versions know, and tell, the same
            await until(partial(_knows_both_versions, replica.port))
    # A request that was on its way to a replica when it stopped may have been carried out: it is told so.
    unexpected = [problem for problem in load.failed if "upstream.replica_lost" not in problem]
    assert unexpected == [], (fleet.folder / "nginx.log").read_text()
    assert len(load.failed) <= 3 * len(load.callers), load.failed
    # All six have written: three, one more of their version, and two of the next.
    written = "SELECT count(DISTINCT writer) >= 6 FROM callgate_store.batches"
    await until(lambda: fleet.ask(written) == [["t"]])
    newest = str(SCHEMA_VERSION + 1)
    assert fleet.ask("SELECT max(version) FROM callgate_store.schema_versions") == [[newest]]


async def _knows_both_versions(port: int) -> bool:
    told = await asyncio.to_thread(get_json, f"http://127.0.0.1:{port}/api/v1/replicas")
    versions = [replica["version"] for replica in told["replicas"]]
    return (len(versions), versions.count(NEXT_VERSION)) == (3, 2)
