"""`/api/requests` and `/api/sources`, member for member as DBHub answers them (seed 000)."""

from datetime import UTC, datetime

import pytest
from api.conftest import Stage
from api.parts import KeptCaller, OneServer, ask, offer
from recorder.happenings import NOW_S, settled

from callgate.api.http_api import ApiParts, HttpApi
from callgate.model.exchange import Outcome
from callgate.ports.status import SourceFacts

QUERY = offer(
    "query",
    description="Run SQL",
    inputSchema={
        "type": "object",
        "properties": {"query": {"type": "string", "description": "The SQL"}},
        "required": ["query"],
    },
)
SHOP = SourceFacts("demo", "mariadb", "db", 3306, "shop", "agent", True, 1000)


async def test_a_request_has_the_seeds_members_and_an_error_only_when_it_failed(stage: Stage) -> None:
    stage.emit(settled(stage.session, NOW_S, sql="SELECT 1"))
    stage.emit(settled(stage.session, NOW_S + 1, outcome=Outcome.TOOL_ERROR, error="no such table"))
    body = await stage.get("/api/requests")
    failed, fine = body["requests"]
    assert body["total"] == 2
    assert fine.keys() == {
        "id", "timestamp", "sourceId", "toolName", "sql", "durationMs", "client", "success",
    }  # fmt: skip
    assert datetime.fromisoformat(fine["timestamp"]) == datetime.fromtimestamp(NOW_S, UTC)
    assert fine["timestamp"].endswith("Z")
    assert (fine["sourceId"], fine["sql"], fine["success"]) == ("demo", "SELECT 1", True)
    assert (failed["success"], failed["error"]) == (False, "no such table")


@pytest.mark.parametrize(
    ("query", "total"), [("?source_id=demo", 2), ("?source_id=x", 0), ("?source_id=", 2), ("?_=1", 2)]
)
async def test_requests_are_filtered_by_source_alone(stage: Stage, query: str, total: int) -> None:
    for number in range(2):
        stage.emit(settled(stage.session, NOW_S + number))
    body = await stage.get(f"/api/requests{query}")
    assert (body["total"], len(body["requests"])) == (total, total)


async def test_a_source_shows_its_address_without_a_password_and_its_tools() -> None:
    app = HttpApi(ApiParts(OneServer([QUERY]), KeptCaller(), sources=lambda: [SHOP])).app()
    expected = {
        "id": "demo", "type": "mariadb", "host": "db", "port": 3306, "database": "shop", "user": "agent",
        "readonly": True, "max_rows": 1000,
        "tools": [
            {
                "name": "demo__query",
                "description": "Run SQL",
                "parameters": [
                    {"name": "query", "type": "string", "required": True, "description": "The SQL"}
                ],
            }
        ],
    }  # fmt: skip
    assert (await ask(app, "/api/sources")).json == [expected]
    assert (await ask(app, "/api/sources/demo")).json == expected


async def test_an_unknown_source_is_not_found_in_dbhubs_own_words() -> None:
    app = HttpApi(ApiParts(OneServer(), KeptCaller())).app()
    answered = await ask(app, "/api/sources/nope")
    assert (answered.status, answered.json) == (404, {"error": "Source not found", "source_id": "nope"})
    assert (await ask(app, "/api/sources")).json == []


async def test_without_a_record_the_list_of_requests_is_empty() -> None:
    app = HttpApi(ApiParts(OneServer(), KeptCaller())).app()
    assert (await ask(app, "/api/requests")).json == {"requests": [], "total": 0}
    assert (await ask(app, "/api/v1/sessions")).json["code"] == "setup.record_off"
