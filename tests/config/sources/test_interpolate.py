from pathlib import Path

import pytest

from callgate.config.sources.interpolate import Interpolation


def resolve(value: object, environ: dict[str, str], folder: Path = Path("/nowhere")) -> object:
    walk = Interpolation(environ, folder)
    resolved = walk.resolve(value)
    assert walk.problems == []
    return resolved


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${A}", "one"),
        ("x-${A}-${B:-two}-y", "x-one-two-y"),
        ("${EMPTY:-two}", "two"),
        ("${EMPTY}", ""),
        ("${B:-}", ""),
        ("$${A}", "${A}"),
        ("cost: 5$$", "cost: 5$"),
        (r"^\d+$", r"^\d+$"),
        ("$A $1", "$A $1"),
    ],
)
def test_variables_are_filled_in(text: str, expected: str) -> None:
    environ = {"A": "one", "EMPTY": ""}
    assert resolve({"tools": [{"sql": text}]}, environ) == {"tools": [{"sql": expected}]}


def test_what_a_variable_holds_is_not_read_again() -> None:
    assert resolve({"a": "${A}"}, {"A": "${B} $$ file:/x"}) == {"a": "${B} $$ file:/x"}


@pytest.mark.parametrize("text", ["${", "${A", "${}", "${1A}", "${A B}", "${A-hunter2}", "${:-hunter2"])
def test_a_malformed_mark_is_one_problem_that_repeats_nothing(text: str) -> None:
    walk = Interpolation({"A": "one"}, Path("/nowhere"))
    walk.resolve({"sources": [{"dsn": text}]})
    assert [problem.key_path for problem in walk.problems] == ["sources[0].dsn"]
    assert "hunter2" not in str(walk.problems)


def test_a_password_put_into_a_dsn_may_hold_any_character() -> None:
    tree = {"sources": [{"dsn": "mysql://me:${PW}@db/shop?x=${X}"}]}
    resolved = resolve(tree, {"PW": "a/b@c#d?e:f%g", "X": "1&2"})
    assert resolved == {"sources": [{"dsn": "mysql://me:a%2Fb%40c%23d%3Fe%3Af%25g@db/shop?x=1%262"}]}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${URL}", "mysql://u:p@h/d"),
        ("mysql://me:x@${HOST}/shop", "mysql://me:x@db:3306/shop"),
        ("sqlite:///${FILE}", "sqlite:////var/x.db"),
    ],
)
def test_a_whole_dsn_a_host_and_a_path_are_put_in_as_they_are(text: str, expected: str) -> None:
    environ = {"URL": "mysql://u:p@h/d", "HOST": "db:3306", "FILE": "/var/x.db"}
    assert resolve({"sources": [{"dsn": text}]}, environ) == {"sources": [{"dsn": expected}]}


def test_a_secret_can_lie_in_a_file(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("from-a-file $$ ${X}\n")
    tree = {
        "server": {"tokens": ["file:token", {"token": "file:${DIR}/token"}]},
        "sources": [{"dsn": f"file:{tmp_path}/token"}],
        "mcpServers": {"a": {"headers": {"H": "file:token"}, "env": {"E": "file:token"}}},
    }
    content = "from-a-file $$ ${X}"
    assert resolve(tree, {"DIR": str(tmp_path)}, tmp_path) == {
        "server": {"tokens": [content, {"token": content}]},
        "sources": [{"dsn": content}],
        "mcpServers": {"a": {"headers": {"H": content}, "env": {"E": content}}},
    }


def test_elsewhere_file_is_only_text() -> None:
    tree = {"tools": [{"sql": "file:x"}], "mcpServers": {"a": {"args": ["file:x"]}}}
    assert resolve(tree, {}) == tree


@pytest.mark.parametrize("content", [None, b"\xff\xfe", b"x" * 70_000])
def test_a_file_that_cannot_be_used_is_a_problem(tmp_path: Path, content: bytes | None) -> None:
    if content is not None:
        (tmp_path / "secret").write_bytes(content)
    walk = Interpolation({}, tmp_path)
    walk.resolve({"sources": [{"dsn": "file:secret"}]})
    assert [problem.key_path for problem in walk.problems] == ["sources[0].dsn"]
    assert str(tmp_path / "secret") in walk.problems[0].hint


def test_a_missing_variable_is_reported_once_for_each_place() -> None:
    walk = Interpolation({}, Path("/nowhere"))
    walk.resolve({"server": {"tokens": ["${T}${T}"]}, "tools": [{"sql": "${T}"}]})
    assert [(p.key_path, p.message) for p in walk.problems] == [
        ("server.tokens[0]", "the variable T is not set"),
        ("tools[0].sql", "the variable T is not set"),
    ]
