"""A short leg of scripts/conformance: what succeeds against a server directly succeeds through the gateway.

The whole of it, with each legacy scenario over stdio too, takes a minute longer and is scripts/conformance.
"""

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from conformance.bridge_losses import REASONS
from conformance.stage import BOTH_ERAS, ONE_ERA, Stage, standing_stage
from conformance.suite import LEGS, SuiteError, install

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Each legacy session over stdio starts a child: here only what a child asks of its client or tells it.
ASKS_AND_TELLS = ("tools-call-with-progress", "tools-call-sampling", "tools-call-elicitation")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def stage(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Stage]:
    try:
        suite = install()
    except SuiteError as problem:
        pytest.fail(str(problem), pytrace=False)  # never a skip: what was not run has not passed
    one_era = [each for each in ONE_ERA if each.transport == "HTTP"]
    folder = tmp_path_factory.mktemp("conformance")
    async with standing_stage(suite, folder, [*BOTH_ERAS, *one_era]) as stage:
        yield stage


async def test_an_upstream_over_http_loses_no_check_of_the_legacy_era(stage: Stage) -> None:
    comparison = await stage.compare(LEGS["016-all"], "ref")
    assert comparison.is_whole, str(comparison)


async def test_an_upstream_over_stdio_loses_no_check_of_the_modern_era(stage: Stage) -> None:
    comparison = await stage.compare(LEGS["020-2026"], "refshared")
    assert comparison.is_whole, str(comparison)


async def test_a_legacy_child_reaches_its_client_with_questions_and_progress(stage: Stage) -> None:
    comparison = await stage.compare(LEGS["020-2025"], "refio", ASKS_AND_TELLS)
    assert comparison.is_whole, str(comparison)


@pytest.mark.parametrize(
    ("leg", "upstream", "era"), [("020-2026", "old", "legacy"), ("020-2025", "new", "modern")]
)
async def test_across_the_eras_exactly_the_checks_are_lost_that_have_a_reason(
    stage: Stage, leg: str, upstream: str, era: str
) -> None:
    comparison = await stage.compare(LEGS[leg], upstream)
    assert comparison.total > 0
    assert set(comparison.lost) == set(REASONS[era]), str(comparison)
