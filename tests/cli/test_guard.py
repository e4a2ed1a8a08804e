"""`callgate guard`: one statement for a person, lines for a program; nothing it reads can end it."""

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from end_to_end.forked import start_forked
from end_to_end.gateway_process import Finished, clean_environment, run_callgate


async def guard(tmp_path: Path, *arguments: str, stdin: str = "") -> Finished:
    return await run_callgate(tmp_path, "guard", *arguments, stdin=stdin.encode())


async def judged(tmp_path: Path, *lines: object, arguments: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    raw = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    done = await run_callgate(tmp_path, "guard", "--jsonl", *arguments, stdin=raw)
    assert done.exit_code == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


async def test_an_allowed_statement_exits_with_0(tmp_path: Path) -> None:
    done = await guard(tmp_path, "SELECT * FROM orders", "--dialect", "sqlite")
    assert (done.exit_code, done.stdout) == (0, "allowed: SELECT on orders\n")


async def test_a_blocked_one_exits_with_6_and_says_rule_reason_and_advice(tmp_path: Path) -> None:
    done = await guard(tmp_path, "DELETE FROM orders", "-d", "sqlite")
    assert done.exit_code == 6
    assert done.stdout == (
        "blocked: DELETE on orders\n"
        "  rule    read_only (refused.read_only)\n"
        "  why     DELETE operations are not allowed in READ-ONLY mode.\n"
        '  instead Set mode = "write" for this source in callgate.toml to enable write operations.\n'
    )
    done = await guard(tmp_path, "DELETE FROM orders", "-d", "sqlite", "--mode", "write")
    assert done.exit_code == 0


async def test_json_and_stdin(tmp_path: Path) -> None:
    done = await guard(tmp_path, "-", "-d", "sqlite", "--json", stdin="SELECT 1; DROP TABLE t")
    told = json.loads(done.stdout)
    assert done.exit_code == 6
    assert (told["verdict"], told["rule"], told["code"]) == ("block", "never", "refused.forbidden")
    assert told["statements"] == ["SELECT", "DROP"]


async def test_stdin_that_is_not_utf_8_is_blocked(tmp_path: Path) -> None:
    done = await run_callgate(tmp_path, "guard", "-", "-d", "sqlite", stdin=b"SELECT '\xff'")
    assert (done.exit_code, "rule    lexer" in done.stdout) == (6, True)


async def test_names_without_a_database_are_safe_unless_asked_for(tmp_path: Path) -> None:
    assert (await guard(tmp_path, "SELECT * FROM t", "-d", "sqlite")).exit_code == 0
    done = await guard(tmp_path, "SELECT * FROM t", "-d", "sqlite", "--require-qualified")
    assert (done.exit_code, "unqualified_table" in done.stdout) == (6, True)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("SELECT 1",), "--dialect is missing"),
        (("SELECT 1", "-d", "sqllite"), 'Did you mean "sqlite"?'),
        (("SELECT 1", "-d", "sqlite", "--mode", "wirte"), "There is no mode 'wirte'"),
    ],
)
async def test_a_wrong_option_exits_with_2(tmp_path: Path, arguments: tuple[str, ...], said: str) -> None:
    done = await guard(tmp_path, *arguments)
    assert done.exit_code == 2
    assert said in done.stderr


@pytest.mark.parametrize(
    "dialect", ["mysql", "mariadb", "postgres", "postgresql", "sqlite", "duckdb", "MySQL"]
)
async def test_every_dialect_is_known_by_its_names(tmp_path: Path, dialect: str) -> None:
    answers = await judged(
        tmp_path,
        {"id": 1, "dialect": dialect, "sql": "SELECT 1"},
        {"id": 2, "dialect": dialect, "sql": "DROP TABLE t"},
        {"id": 3, "dialect": dialect, "sql": "INSERT INTO t VALUES (1)"},
        {"id": 4, "dialect": dialect, "sql": "INSERT INTO t VALUES (1)", "mode": "write"},
    )
    assert [answer["verdict"] for answer in answers] == ["allow", "block", "block", "allow"]
    assert [answer["rule"] for answer in answers[:3]] == [None, "never", "read_only"]


async def test_no_line_can_end_it_and_what_cannot_be_read_is_blocked(tmp_path: Path) -> None:
    answers = await judged(
        tmp_path,
        b'\xef\xbb\xbf{"id": "bom", "dialect": "sqlite", "sql": "SELECT 1"}\r',
        b"",
        b"not json",
        b"[" * 100_000,
        b"\xff\xfe",
        [1],
        {"id": "no sql", "dialect": "sqlite"},
        {"id": "number", "dialect": "sqlite", "sql": 1},
        {"id": "dialect", "dialect": "oracle", "sql": "SELECT 1"},
        {"id": "mode", "dialect": "sqlite", "sql": "SELECT 1", "mode": "any"},
        {"id": ["any", None], "dialect": "sqlite", "sql": "SELECT \ud800"},
        {"id": "deep", "dialect": "sqlite", "sql": "SELECT " + "(" * 3_000 + "1" + ")" * 3_000},
        {"id": "long", "dialect": "sqlite", "sql": "SELECT " + "1," * 50_000 + "1"},
        b'{"id": NaN, "dialect": "sqlite", "sql": "SELECT 1"}',
        b'{"id": 1e999, "dialect": "sqlite", "sql": "SELECT 1"}',
        b'{"id": ' + b"9" * 5_000 + b', "dialect": "sqlite", "sql": "SELECT 1"}',
        {"id": "last", "dialect": "sqlite", "sql": "SELECT 2"},
    )
    verdicts = [(answer["id"], answer["verdict"], answer["rule"]) for answer in answers]
    assert verdicts == [
        ("bom", "allow", None),
        *[(None, "block", "bad_line")] * 4,
        ("no sql", "block", "bad_line"),
        ("number", "block", "bad_line"),
        ("dialect", "block", "bad_line"),
        ("mode", "block", "bad_line"),
        (["any", None], "block", "lexer"),
        ("deep", "block", "nesting"),
        ("long", "block", "length"),
        (None, "block", "bad_line"),
        (None, "allow", None),
        (None, "block", "bad_line"),
        ("last", "allow", None),
    ]
    assert all(set(answer) == {"id", "verdict", "rule", "reason"} for answer in answers)
    assert all(answer["reason"] for answer in answers if answer["verdict"] == "block")


async def test_options_hold_where_a_line_says_nothing(tmp_path: Path) -> None:
    (answer,) = await judged(
        tmp_path, {"id": 1, "sql": "DELETE FROM t"}, arguments=("-d", "sqlite", "--mode", "write")
    )
    assert answer["verdict"] == "allow"


async def test_lines_are_answered_one_by_one_while_stdin_stays_open(tmp_path: Path) -> None:
    process = await start_forked(
        "guard", "--jsonl",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        env=clean_environment(tmp_path), cwd=tmp_path,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    for number in range(3):
        process.stdin.write(
            json.dumps({"id": number, "dialect": "sqlite", "sql": "SELECT 1"}).encode() + b"\n"
        )
        await process.stdin.drain()
        assert json.loads(await process.stdout.readline())["id"] == number
    process.stdin.close()
    assert await process.wait() == 0


async def test_a_reader_that_leaves_ends_it_quietly(tmp_path: Path) -> None:
    line = json.dumps({"id": 1, "dialect": "sqlite", "sql": "SELECT 1"}).encode() + b"\n"
    shell = f"{sys.executable} -m callgate guard --jsonl | head -n 1"
    process = await asyncio.create_subprocess_shell(
        shell,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=clean_environment(tmp_path),
    )
    stdout, stderr = await process.communicate(line * 2_000)
    assert len(stdout.splitlines()) == 1
    assert stderr == b""


@pytest.mark.parametrize("arguments", [(), ("-d", "oracle")])
async def test_a_dialect_that_is_missing_or_unknown_names_all_that_there_are(
    tmp_path: Path, arguments: tuple[str, ...]
) -> None:
    told = await run_callgate(tmp_path, "guard", "SELECT 1", *arguments)
    assert told.exit_code == 2
    assert "mysql, mariadb, postgres, sqlite, duckdb" in told.stderr
