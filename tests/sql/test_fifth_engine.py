"""A new engine is one value in one folder: nothing else in `sql` has to be told of it."""

import re
from pathlib import Path

import pytest
from sql.conftest import Asker

import callgate.sql
from callgate.model.errors import SetupError
from callgate.sql.engines.engine import ENGINES, find_engine
from callgate.sql.server.open_source import open_source
from callgate.sql.settings import SourceSettings

SQL = Path(callgate.sql.__file__).parent


@pytest.fixture
def fifth(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setitem(ENGINES, "fifth", "sql.fifth_engine.engine")
    return "fifth"


async def test_a_fifth_engine_answers_in_its_own_words(fifth: str, shop: Path) -> None:
    server = open_source(SourceSettings("five", fifth, shop, require_qualified=True))
    asker = Asker(server)
    try:
        tools = await asker.tools()
        assert tools["query"]["title"] == "Execute Fifth Query"
        assert "shelf.table" in tools["query"]["description"]
        assert (await asker.query("SELECT count(*) AS n FROM main.orders")).structured["rows"][0][0] > 10
        assert (await asker.query("DROP TABLE main.orders")).code == "refused.forbidden"
        explained = await asker.call("explain", query="SELECT 1 AS one")
        assert not explained.is_error, explained.raw
        assert "opcode" in explained.text, "its own prefix: SQLite's EXPLAIN lists byte code"
        databases, _ = await asker.read("fifth://databases")
        assert databases["totalCount"] == 1
    finally:
        await server.close()


def test_every_engine_is_found_by_name_and_alias_and_no_other() -> None:
    for name in (*ENGINES, "MariaDB", " pg "):
        engine = find_engine(name)
        assert engine is not None
        assert engine.dialect.name in ENGINES
    assert find_engine("oracle") is None
    with pytest.raises(SetupError):
        open_source(SourceSettings("x", "oracle"))


def test_outside_of_their_folders_no_engine_is_told_apart_by_its_name() -> None:
    told_apart = re.compile(r"""(?:==|!=|case|in)\s*\(?\{?["'](?:mysql|postgres|sqlite|duckdb)["']""")
    found = [
        f"{path.relative_to(SQL)}: {line.strip()}"
        for path in sorted(SQL.rglob("*.py"))
        if "engines" not in path.relative_to(SQL).parts
        for line in path.read_text().splitlines()
        if told_apart.search(line)
    ]
    assert found == []
