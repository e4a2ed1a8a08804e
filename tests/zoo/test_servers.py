"""Five real servers, each directly and on one way through a gateway; `scripts/zoo` has all of them."""

from pathlib import Path

import pytest
from zoo import manifest
from zoo.compare import Difference, explained
from zoo.install import install
from zoo.stand import stand, web_site
from zoo.try_server import try_server

SHORT = {
    "everything": "/mcp",
    "filesystem": "/servers/x/mcp",
    "memory": "stdio",
    "sequential-thinking": "/mcp, modern",
    "git": "/servers/x/mcp",
}


@pytest.mark.usefixtures("everything_installed")
@pytest.mark.parametrize("name", SHORT)
async def test_a_real_server_answers_through_the_gateway_as_it_does_directly(
    name: str, tmp_path: Path
) -> None:
    server = manifest.servers()[name]
    with web_site() as page:
        placed = stand(server, install(name, server), page, tmp_path)
        result = await try_server(placed, (SHORT[name],), is_steady=True)
    assert result.problem == ""
    assert result.counts["tools"] > 0
    (found,) = result.ways.values()
    assert found["same"] >= len(server.calls)
    differences = [Difference(**each) for each in found["differences"]]
    unexplained = [
        each for each in differences if not explained(name, SHORT[name], each, manifest.explanations())
    ]
    assert [(each.step, *each.excerpts()) for each in unexplained] == []
