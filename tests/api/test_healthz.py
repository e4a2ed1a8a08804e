"""`GET /healthz`: whether we serve, and to those who may call also what is wrong."""

import json
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request

from callgate.api.http_api import HttpApi
from callgate.model.errors import SetupError
from callgate.model.health import Health
from callgate.model.identity import LOCAL, Principal
from callgate.recorder.recorder import Recorder
from callgate.recorder.redact import Redactor


class _NoServers:
    def health(self) -> list[Health]:
        return []


async def healthz(record: Recorder | None, principal: Principal | None) -> dict[str, Any]:
    request = Request({"type": "http", "state": {"principal": principal}})
    response = await HttpApi(record, _NoServers()).healthz(request)
    assert response.status_code == 200
    return json.loads(response.body)


async def test_a_record_in_trouble_degrades_us_and_those_who_may_call_learn_why(tmp_path: Path) -> None:
    (tmp_path / "record.duckdb").write_bytes(b"not a database" * 1000)
    recorder = Recorder(tmp_path, Redactor(), True)
    with pytest.raises(SetupError):
        await recorder.source_requests(None)
    told, probed = await healthz(recorder, LOCAL), await healthz(recorder, None)
    assert (told["status"], told["record"]) == ("degraded", recorder.problem())
    assert "cannot be opened" in told["record"]
    assert probed["status"] == "degraded"
    assert "record" not in probed
    await recorder.close()


async def test_a_record_in_order_is_not_mentioned(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path, Redactor(), True)
    await recorder.source_requests(None)
    for record in (recorder, None):
        body = await healthz(record, LOCAL)
        assert body["status"] == "ok"
        assert "record" not in body
    await recorder.close()
