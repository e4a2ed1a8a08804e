"""Three workers: what replicas are to their clients, they are too. The tests are those of the replicas."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from replicas.test_one_gateway import (
    test_a_cancellation_from_another_connection_reaches_the_server,
    test_a_modern_client_finds_its_server_s_memory_wherever_it_asks,
    test_a_modern_client_s_hang_up_cancels_at_the_home,
    test_a_state_that_is_forged_or_of_another_request_asks_the_server_nothing,
    test_every_call_is_recorded_once_by_its_home,
    test_handshake_clients_work_wherever_their_requests_arrive,
    test_ids_that_are_forged_cut_long_or_another_s_are_unknown_everywhere,
    test_one_modern_client_is_one_session_in_the_record,
    test_parked_calls_are_resumed_from_any_connection_in_any_order,
    test_streams_answers_and_news_reach_the_client_wherever_its_stream_is,
)
from workers.team import Team, running_team

__all__ = [
    "test_a_cancellation_from_another_connection_reaches_the_server",
    "test_a_modern_client_finds_its_server_s_memory_wherever_it_asks",
    "test_a_modern_client_s_hang_up_cancels_at_the_home",
    "test_a_state_that_is_forged_or_of_another_request_asks_the_server_nothing",
    "test_every_call_is_recorded_once_by_its_home",
    "test_handshake_clients_work_wherever_their_requests_arrive",
    "test_ids_that_are_forged_cut_long_or_another_s_are_unknown_everywhere",
    "test_one_modern_client_is_one_session_in_the_record",
    "test_parked_calls_are_resumed_from_any_connection_in_any_order",
    "test_streams_answers_and_news_reach_the_client_wherever_its_stream_is",
]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Team]:
    folder: Path = tmp_path_factory.mktemp("workers")
    async with running_team(folder) as team:
        yield team
