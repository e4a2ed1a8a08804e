"""`GET /healthz` and `/readyz`: whether we serve, and to those who may call also what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from api.parts import NoCaller, NoServers
from recorder.full_disk import files_end_at
from recorder.happenings import Record, a_session, settled, today_file
from starlette.requests import Request

from callgate.api.http_api import ApiParts, HttpApi
from callgate.app.api_needs import Readiness
from callgate.model.errors import SetupError
from callgate.model.identity import LOCAL, Principal
from callgate.recorder.stores.duckdb.reader import Reader


async def healthz(record: Reader | None, principal: Principal | None) -> dict[str, Any]:
    request = Request({"type": "http", "state": {"principal": principal}})
    response = await HttpApi(ApiParts(NoServers(), NoCaller(), record)).healthz(request)
    assert response.status_code == 200
    return json.loads(bytes(response.body))


async def test_a_record_in_trouble_degrades_us_and_those_who_may_call_learn_why(tmp_path: Path) -> None:
    today_file(tmp_path).write_bytes(b"not a database" * 1000)
    recorder = Record(tmp_path)
    with pytest.raises(SetupError):
        await recorder.source_requests(None)
    told, probed = await healthz(recorder.reader, LOCAL), await healthz(recorder.reader, None)
    assert (told["status"], told["record"]) == ("degraded", recorder.problem())
    assert "cannot be opened" in told["record"]
    assert probed["status"] == "degraded"
    assert "record" not in probed
    await recorder.close()


async def test_a_record_in_order_is_not_mentioned(tmp_path: Path) -> None:
    recorder = Record(tmp_path)
    await recorder.source_requests(None)
    for record in (recorder.reader, None):
        body = await healthz(record, LOCAL)
        assert body["status"] == "ok"
        assert "record" not in body
    await recorder.close()


async def readyz(readiness: Readiness, principal: Principal | None) -> tuple[int, dict[str, Any]]:
    request = Request({"type": "http", "state": {"principal": principal}})
    api = HttpApi(ApiParts(NoServers(), NoCaller(), obstacle=readiness.obstacle))
    response = await api.readyz(request)
    return response.status_code, json.loads(bytes(response.body))


@pytest.mark.parametrize("refuses", [False, True])
async def test_a_journal_that_cannot_be_written_makes_us_unready_only_where_calls_are_refused(
    tmp_path: Path, refuses: bool
) -> None:
    recorder = Record(tmp_path, refuses_unrecorded=refuses)
    readiness = Readiness(recorder.recorder)
    assert await readyz(readiness, None) == (200, {"status": "ready"})
    with files_end_at(10):
        recorder.emit(settled(a_session()))
        with pytest.raises(SetupError):
            await recorder.source_requests(None)
        if refuses:
            assert await readyz(readiness, None) == (503, {"status": "not ready"})
            assert "on_failure" in (await readyz(readiness, LOCAL))[1]["reason"]
        else:
            assert await readyz(readiness, LOCAL) == (200, {"status": "ready"})
    await recorder.source_requests(None)
    assert await readyz(readiness, None) == (200, {"status": "ready"})
    await recorder.close()
