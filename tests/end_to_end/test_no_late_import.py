"""Nothing is imported while calls are served: an import takes descriptors, and an attack may leave none."""

import asyncio
import sys
from pathlib import Path

from edge.http_probe import HttpProbe
from end_to_end.gateway_process import running_gateway
from end_to_end.test_descriptors import DEADLINE_S, QUERY, port_of

LOGGED = [sys.executable, str(Path(__file__).parent / "imports_logged.py")]
DROP = {"name": "demo__query", "arguments": {"query": "DROP TABLE shop.orders"}}
SEARCH = {"name": "demo__search_objects", "arguments": {"object_type": "table"}}
# The parsers are loaded in the background, right after the start; what the store needs, with the first call.
LOADED_LAST = {"sqlglot.parsers.sqlite", "nanoarrow.c_array_stream"}


async def test_no_module_is_imported_for_a_call_or_a_read(tmp_path: Path) -> None:
    imports = tmp_path / "imports"
    async with (
        asyncio.timeout(DEADLINE_S),
        running_gateway(tmp_path, command=LOGGED, IMPORTS=str(imports)) as gateway,
        HttpProbe(port_of(gateway)) as probe,
    ):

        def imported() -> list[str]:
            return imports.read_text().splitlines()

        assert (await probe.modern("tools/call", QUERY)).status == 200
        while not set(imported()) >= LOADED_LAST:
            await asyncio.sleep(0.01)
        # Both waited for what was being loaded: the parser's thread and the store's take turns.
        assert (await probe.modern("tools/call", QUERY)).status == 200
        assert (await probe.request("GET", "/api/requests")).status == 200
        before = imported()
        for call in (DROP, SEARCH):
            assert (await probe.modern("tools/call", call)).status == 200
        session = await probe.initialize()
        assert (await probe.legacy("tools/list", session=session)).status == 200
        for path in ("/api/v1/sessions", "/api/v1/tool-calls", "/metrics", "/", "/nowhere"):
            assert (await probe.request("GET", path)).status in (200, 404)
        assert imported()[len(before) :] == []
