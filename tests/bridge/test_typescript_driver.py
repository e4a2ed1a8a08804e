"""The clients in TypeScript tell all that their server said, or a cell of the matrix would fail by chance."""

import sys

import pytest
from bridge.driver_process import HERE, running_driver
from bridge.matrix_stage import typescript_sdk


@pytest.mark.parametrize("sdk", ["sdk1", "sdk2"])
async def test_progress_that_comes_over_a_pipe_in_one_piece_with_the_answer_is_told(sdk: str) -> None:
    command = {"command": sys.executable, "args": [str(HERE / "servers" / "one_piece_server.py")]}
    async with running_driver(*typescript_sdk(sdk)) as driver:
        await driver.order("only", "connect", command=command)
        done = await driver.order("only", "call", name="count", arguments={})
    assert done["progress"] == [[1, 3, "step 1"], [2, 3, "step 2"], [3, 3, "step 3"]]
