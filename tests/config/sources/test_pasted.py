from pathlib import Path
from typing import Any

import pytest

from callgate.config.sources.pasted import MAX_PASTED_CHARS, read_pasted
from callgate.model.error_codes import CALLER_BAD_PARAMS
from callgate.model.errors import CallerError

_GIT = {"command": "uvx", "args": ["mcp-server-git"]}


@pytest.mark.parametrize(
    ("text", "kind", "name", "entry"),
    [
        ("postgres://me@db/shop", "source", "shop", {"dsn": "postgres://me@db/shop"}),
        ("jdbc:sqlite:shop.db", "source", "shop", {"dsn": "jdbc:sqlite:shop.db"}),
        ("orders.parquet", "source", "orders", {"dsn": "duckdb:///orders.parquet"}),
        ("https://mcp.linear.app/mcp", "server", "linear", {"url": "https://mcp.linear.app/mcp"}),
        (
            "http://127.0.0.1:8000/sse",
            "server",
            "server",
            {"url": "http://127.0.0.1:8000/sse", "type": "sse"},
        ),
        ("uvx mcp-server-git", "server", "git", _GIT),
        ("$ uvx mcp-server-git", "server", "git", _GIT),
        ("```sh\nuvx \\\n  mcp-server-git\n```", "server", "git", _GIT),
        (
            "KEY='a b' npx -y @playwright/mcp@latest",
            "server",
            "playwright",
            {"command": "npx", "args": ["-y", "@playwright/mcp@latest"], "env": {"KEY": "a b"}},
        ),
        (
            "docker run -i --rm -e TOKEN ghcr.io/github/github-mcp-server:1",
            "server",
            "github",
            {
                "command": "docker",
                "args": ["run", "-i", "--rm", "-e", "TOKEN", "ghcr.io/github/github-mcp-server:1"],
            },
        ),
        ("node /home/me/weather/build/index.js", "server", "weather", None),
        ('{"mcpServers": {"git": {"command": "uvx", "args": ["mcp-server-git"]}}}', "server", "git", _GIT),
        ('{"servers": {"x": {"type": "http", "url": "https://x.y/mcp"}}}', "server", "x", None),
        ('// mine\n{"command": "uvx", "args": ["mcp-server-git",],}', "server", "git", _GIT),
        ('"git": {"command": "uvx", "args": ["mcp-server-git"]}', "server", "git", _GIT),
        ('{"git": {"command": "uvx", "args": ["mcp-server-git"]}}', "server", "git", _GIT),
        ('{"name": "git", "command": "uvx", "args": ["mcp-server-git"]}', "server", "git", _GIT),
        ('[mcp_servers.git]\ncommand = "uvx"\nargs = ["mcp-server-git"]', "server", "git", _GIT),
        ('# mine\ncommand = "uvx"\nargs = ["mcp-server-git"]', "server", "git", _GIT),
        ('[[sources]]\nid = "s"\ndsn = "mysql://db/x"\nmax_rows = 5', "source", "s", None),
        ("claude mcp add git -s user -- uvx mcp-server-git", "server", "git", _GIT),
        ("gemini mcp add git uvx mcp-server-git", "server", "git", _GIT),
        ('claude mcp add-json git \'{"command": "uvx", "args": ["mcp-server-git"]}\'', "server", "git", _GIT),
        (
            'code --add-mcp \'{"name": "git", "command": "uvx", "args": ["mcp-server-git"]}\'',
            "server",
            "git",
            _GIT,
        ),
        (
            'claude mcp add -t http x https://x.y/mcp -H "Authorization: Bearer a"',
            "server",
            "x",
            {"type": "http", "headers": {"Authorization": "Bearer a"}, "url": "https://x.y/mcp"},
        ),
        (
            "codex mcp add x --url https://x.y/mcp --bearer-token-env-var TOK",
            "server",
            "x",
            {"url": "https://x.y/mcp", "headers": {"Authorization": "Bearer ${TOK}"}},
        ),
    ],
)
def test_what_people_paste_becomes_an_entry_of_the_file(
    text: str, kind: str, name: str, entry: dict[str, Any] | None
) -> None:
    pasted = read_pasted(text)
    assert (pasted.kind, pasted.name) == (kind, name)
    assert entry is None or pasted.entry == entry


def test_the_name_is_one_that_nothing_else_has() -> None:
    assert read_pasted("postgres://db/shop", {"shop", "shop-2"}).name == "shop-3"
    assert read_pasted('{"record": {"command": "x"}}').name == "record-2"
    pasted = read_pasted('{"mcpServers": {"My Git": {"command": "x"}}}')
    assert (pasted.name, pasted.entry["title"]) == ("my-git", "My Git")


def test_a_relative_path_can_be_bound_to_a_folder() -> None:
    assert read_pasted("shop.db", folder=Path("/data")).entry == {"dsn": "sqlite:////data/shop.db"}


@pytest.mark.parametrize(
    ("text", "loc", "name", "value"),
    [
        ("postgres://me:p%40w@db/shop", ("dsn",), "shop-password", "p@w"),
        ("https://x.y/mcp?api_key=zzz&a=b", ("url",), "x-api-key", "zzz"),
        ("GITHUB_TOKEN=abc uvx github-mcp", ("env", "GITHUB_TOKEN"), "github-token", "abc"),
        ("uvx git-mcp --api-key abc", ("args", 2), "git-api-key", "abc"),
        ("uvx git-mcp --api-key=abc", ("args", 1), "git-api-key", "abc"),
        (
            '{"x": {"url": "https://x.y", "headers": {"Authorization": "Bearer abc"}}}',
            ("headers", "Authorization"),
            "x-authorization",
            "abc",
        ),
    ],
)
def test_a_secret_is_named_with_its_place(text: str, loc: tuple[Any, ...], name: str, value: str) -> None:
    pasted = read_pasted(text)
    (secret,) = pasted.secrets
    assert (secret.loc, secret.name, secret.value) == (loc, name, value)
    held: Any = pasted.entry
    for part in loc:
        held = held[part]
    assert held.startswith(secret.before)
    assert held.endswith(secret.after)
    assert value not in repr(pasted)


def test_a_reference_is_not_a_secret() -> None:
    text = '{"x": {"url": "https://x.y", "headers": {"Authorization": "Bearer ${T}", "X-Key": "file:/a"}}}'
    assert read_pasted(text).secrets == ()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "``` \n```",
        "{",
        '{"a": 1}',
        '{"mcpServers": {}}',
        '{"mcpServers": {"a": {"hunter2": 1}}}',
        '{"mcpServers": {"a": {"url": "https://a"}, "b": {"command": "hunter2"}}}',
        "[mcpServers.a]\ncommand = hunter2",
        "mysqll://me:hunter2@db",
        "postgres://me:hunt#er2@db",
        "echo hunter2 | sh",
        "cd /x && npx hunter2",
        "npx 'hunter2",
        "claude mcp add hunter2",
        "A=hunter2",
        "npx hunter2\x00",
        "[" * 5_000,
        '{"a":' * 5_000,
        "x" * (MAX_PASTED_CHARS + 1),
    ],
)
def test_what_is_not_understood_says_what_would_be_and_repeats_nothing(text: str) -> None:
    with pytest.raises(CallerError) as caught:
        read_pasted(text)
    assert caught.value.code is CALLER_BAD_PARAMS
    assert caught.value.message
    assert "hunter2" not in caught.value.message + caught.value.hint
    assert len(caught.value.message) < 1_000


@pytest.mark.parametrize(
    "lead", ["", "npx ", "npx x ", "{", '"a": {', "https://", "postgres://u:", "[x]\na="]
)
def test_the_longest_text_is_read_or_refused_whatever_is_in_it(lead: str) -> None:
    """A reading that looks at all pairs of characters would take minutes here."""
    pieces = ("key", "/*", '"\\', '{"\\"', "@a/", "==", "a=", "x:", "://", "[", '{"a":', "a.b.", "'", "\\\n")
    pieces += ("-e A=b ", "https://a@", "bearer ", "?key=a&", "${", "( ", '"key', "postgres://a:")
    for piece in pieces:
        try:
            pasted = read_pasted((lead + piece * MAX_PASTED_CHARS)[:MAX_PASTED_CHARS])
        except CallerError as error:
            assert len(error.message) < 1_000
        else:
            assert pasted.name
