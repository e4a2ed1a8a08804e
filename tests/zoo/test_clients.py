"""Four real clients, each directly and on one way through a gateway; `scripts/zoo` has all of them.

Both SDKs in their other versions and eras are in tests/bridge/test_matrix.py.
"""

from pathlib import Path

import pytest
from zoo import manifest
from zoo.compare import Difference, explained
from zoo.install import install
from zoo.stand import stand
from zoo.try_client import try_client

SHORT = {
    "python-sdk-1-30": "/mcp",
    "python-sdk-2-3-modern": "stdio",
    "typescript-sdk-1-32": "/servers/x/mcp",
    "mcp-remote": "/mcp",
}


@pytest.mark.usefixtures("everything_installed")
@pytest.mark.parametrize("name", SHORT)
async def test_a_real_client_sees_through_the_gateway_what_it_sees_directly(
    name: str, tmp_path: Path
) -> None:
    servers, client = manifest.servers(), manifest.clients()[name]
    everything, other = (
        stand(servers[each], install(each, servers[each]), "", tmp_path / each)
        for each in ("everything", "filesystem")
    )
    result = await try_client(
        client, install(name, client), everything, other, (SHORT[name],), is_steady=True
    )
    assert result.problem == ""
    (found,) = result.ways.values()
    assert found["same"] >= 7
    differences = [Difference(**each) for each in found["differences"]]
    unexplained = [
        each for each in differences if not explained(name, SHORT[name], each, manifest.explanations())
    ]
    assert [(each.step, *each.excerpts()) for each in unexplained] == []
