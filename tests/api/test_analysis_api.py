"""SQL of one's own, and export."""

import csv
import io
import json

import duckdb
import pytest
from api.conftest import Stage
from recorder.happenings import NOW_S, settled


async def test_a_query_answers_with_columns_and_rows_and_rounds_nothing(stage: Stage) -> None:
    stage.emit(settled(stage.session))
    sql = "SELECT count(*) AS n, 9007199254740993 AS big, 1.10::DECIMAL(9,2) AS d, max(ts) FROM rpc_events"
    answered = await stage.ask("/api/v1/query", {"sql": sql})
    assert answered.json["columns"][:3] == ["n", "big", "d"]
    assert answered.json["rows"] == [[1, "9007199254740993", "1.10", "2026-05-28T20:26:40Z"]]


async def test_a_query_of_more_rows_than_asked_for_says_so(stage: Stage) -> None:
    body = {"sql": "SELECT * FROM range(10)", "max_rows": 3}
    answer = (await stage.ask("/api/v1/query", body)).json
    assert (answer["row_count"], answer["truncated"]) == (3, True)


@pytest.mark.parametrize(
    "sql",
    [
        "DELETE FROM rpc_events",
        "SELECT 1; SELECT 2",
        "SELECT * FROM read_text('/etc/passwd')",
        "COPY rpc_events TO '/tmp/x'",
        "ATTACH '/tmp/x.db'",
        "SELEC",
    ],
)
async def test_anything_but_one_select_over_the_record_is_refused(stage: Stage, sql: str) -> None:
    answered = await stage.ask("/api/v1/query", {"sql": sql})
    assert (answered.status, answered.json["code"]) == (400, "caller.bad_params")


async def test_a_query_body_that_is_no_json_is_named_as_that(stage: Stage) -> None:
    assert (await stage.ask("/api/v1/query", b"{")).json["code"] == "caller.bad_json"
    answered = await stage.ask("/api/v1/query", b"{}", content_type="text/plain")
    assert (answered.status, answered.json["code"]) == (415, "caller.wrong_content_type")


async def test_an_export_holds_the_same_rows_in_every_format(
    stage: Stage, tmp_path_factory: pytest.TempPathFactory
) -> None:
    for number in range(3):
        stage.emit(settled(stage.session, NOW_S + number, sql=f"SELECT {number}"))
    lines = (await stage.ask("/api/v1/export?format=jsonl")).body.splitlines()
    rows = list(csv.DictReader(io.StringIO((await stage.ask("/api/v1/export?format=csv")).body.decode())))
    file = tmp_path_factory.mktemp("export") / "x.parquet"
    answered = await stage.ask("/api/v1/export?format=parquet&since=2026-05-28T20:26:41Z")
    file.write_bytes(answered.body)
    assert [json.loads(line)["sql"] for line in lines] == ["SELECT 0", "SELECT 1", "SELECT 2"]
    assert [row["sql"] for row in rows] == ["SELECT 0", "SELECT 1", "SELECT 2"]
    with duckdb.connect() as connection:
        assert connection.sql(f"SELECT sql FROM '{file}'").fetchall() == [("SELECT 1",), ("SELECT 2",)]
    assert answered.headers["content-disposition"].endswith('.parquet"')


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx"])
async def test_a_spreadsheet_runs_no_cell_of_an_export(stage: Stage, text: str) -> None:
    stage.emit(settled(stage.session, sql=text, error=text))
    body = (await stage.ask("/api/v1/export?format=csv")).body.decode()
    (row,) = csv.DictReader(io.StringIO(body, newline=""))
    assert (row["sql"], row["error"]) == (f"'{text}", f"'{text}")
    (line,) = (await stage.ask("/api/v1/export?format=jsonl")).body.splitlines()
    assert json.loads(line)["sql"] == text  # only where somebody would run it
