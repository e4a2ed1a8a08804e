"""Databases that are named on the command line: what an argument means, and what it is called."""

import sqlite3
from contextlib import closing
from pathlib import Path

import duckdb
import pytest

from callgate.config.load import ConfigProblems, Loaded, load_config
from callgate.config.sources.addresses import looks_like_address
from callgate.config.sources.flags import Flags


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def load(*addresses: str, config: Path | None = None, **environ: str) -> Loaded:
    return load_config(Flags(config=config, addresses=addresses), environ)


def shown(loaded: Loaded) -> dict[str, str]:
    return {source.id: str(source.dsn) for source in loaded.config.sources}


def test_a_file_is_served_by_what_is_in_it_whatever_it_is_called(folder: Path) -> None:
    with closing(sqlite3.connect(folder / "one.db")) as made:
        made.execute("CREATE TABLE t (a)")
        made.commit()
    with closing(duckdb.connect(folder / "two.db")):
        pass
    (folder / "Orders 2026.csv").write_text("a,b\n1,2\n")
    assert shown(load("one.db", "two.db", "./Orders 2026.csv")) == {
        "one": f"sqlite:///{folder}/one.db",
        "two": f"duckdb:///{folder}/two.db",
        "orders-2026": f"duckdb:///{folder}/Orders 2026.csv",
    }


def test_a_server_is_called_like_its_database_and_two_of_a_name_differ(folder: Path) -> None:
    loaded = load("postgres://me@a/shop", "mysql://me@b/shop", "postgresql://c")
    assert list(shown(loaded)) == ["shop", "shop-2", "postgres"]


def test_no_other_source_is_served_and_no_file_is_looked_for(folder: Path) -> None:
    (folder / "callgate.toml").write_text("this is no TOML")
    loaded = load("postgres://me@a/shop", DATABASE_URL="mysql://b/other", MYSQL_HOST="c")
    assert (loaded.origin, list(shown(loaded))) == (None, ["shop"])


def test_a_file_that_is_named_too_is_read(folder: Path) -> None:
    file = folder / "mine.toml"
    file.write_text('version = 1\n[[sources]]\nid = "shop"\ndsn = "mysql://a/shop"\n')
    loaded = load("postgres://me@a/shop", config=file)
    assert loaded.origin == file
    assert shown(loaded) == {"shop": "mysql://a/shop", "shop-1": "postgres://me@a/shop"}


def test_a_password_on_the_command_line_is_warned_about_and_not_repeated(folder: Path) -> None:
    loaded = load("postgres://me:hunter2@a/shop")
    (warning,) = loaded.warnings
    assert "list of processes" in str(warning)
    assert "hunter2" not in f"{warning}{loaded}"


@pytest.mark.parametrize(
    ("address", "told"),
    [
        ("nowhere.db", 'argument 1: "nowhere.db" cannot be read: No such file'),
        ("text.db", "argument 1: the file is not one that can be served. SQLite and DuckDB"),
        ("oracle://me:hunter2@a/shop", 'argument 1: "oracle" is not one of the known schemes'),
        ("postgres://me:hunter2@a/shop?sslmode=maybe", "argument 1: "),
    ],
)
def test_what_cannot_be_served_is_a_problem_that_says_why(folder: Path, address: str, told: str) -> None:
    (folder / "text.db").write_text("hello")
    with pytest.raises(ConfigProblems) as raised:
        load(address)
    (problem,) = raised.value.problems
    assert told in str(problem)
    assert "hunter2" not in str(problem)


@pytest.mark.parametrize("suffix", ["parquet", "csv", "tsv", "json", "jsonl", "ndjson"])
def test_data_can_only_be_read(folder: Path, suffix: str) -> None:
    (folder / "callgate.toml").write_text(
        f'version = 1\n[[sources]]\nid = "x"\ndsn = "duckdb:///x.{suffix}"\nmode = "write"\n'
    )
    with pytest.raises(ConfigProblems, match="such a file can only be read"):
        load_config(environ={})


@pytest.mark.parametrize(
    ("argument", "is_one"),
    [("shop.db", True), ("a/b.PARQUET", True), ("mysql://x", True), ("serv", False), ("query", False)],
)
def test_a_mistyped_command_is_no_database(argument: str, is_one: bool) -> None:
    assert looks_like_address(argument) is is_one
