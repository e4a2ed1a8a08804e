"""`GET /healthz`: whether we serve, and to those who may call also what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from api.parts import NoCaller, NoServers
from recorder.happenings import Record, today_file
from starlette.requests import Request

from callgate.api.http_api import ApiParts, HttpApi
from callgate.model.errors import SetupError
from callgate.model.identity import LOCAL, Principal
from callgate.recorder.read.reader import Reader


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
