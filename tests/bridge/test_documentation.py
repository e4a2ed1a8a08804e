"""docs/bridge.md and the README tell of the matrix that is run, no more and no less."""

import re
from pathlib import Path

from bridge.scenarios import FEATURES
from bridge.seat import CLIENTS, WAYS
from bridge.upstream_servers import UPSTREAMS

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "bridge.md"


def test_every_feature_and_client_of_the_matrix_is_on_the_page_and_every_cell_is_counted() -> None:
    text = PAGE.read_text()
    assert re.findall(r"^\| (.+?) \| ✓", text, re.MULTILINE) == list(FEATURES)
    assert re.findall(r"^\| `([a-z0-9-]+)` \| .*(?:handshake|modern) \|$", text, re.MULTILINE) == list(
        CLIENTS
    )
    sizes = [len(CLIENTS), len(WAYS), len(UPSTREAMS), len(FEATURES)]
    cells = sizes[0] * sizes[1] * sizes[2] * sizes[3]
    assert f"{' × '.join(map(str, sizes))} = {cells} cells" in text
    assert f"{cells:,} tests" in (ROOT / "README.md").read_text()
