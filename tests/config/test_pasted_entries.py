"""Entries and whole files of other clients, as they are."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import tomlkit
from config.conftest import LoadText, ProblemsOf

from callgate.config.load import ConfigProblem, ConfigProblems, Flags, Loaded, load_config
from callgate.config.show import masked
from callgate.config.sources.adopt_entry import adopt_entry
from callgate.config.specs.field_types import is_entry_name
from callgate.config.specs.mcp_server import McpServerSpec

LONG = "n" * 10_000


def load_file(folder: Path, name: str, text: str, environ: Mapping[str, str] | None = None) -> Loaded:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, "utf-8")
    return load_config(Flags(config=path), environ or {})


def problems_in(
    folder: Path, name: str, text: str, environ: Mapping[str, str] | None = None
) -> tuple[ConfigProblem, ...]:
    with pytest.raises(ConfigProblems) as caught:
        load_file(folder, name, text, environ)
    return caught.value.problems


def only(loaded: Loaded) -> McpServerSpec:
    (spec,) = loaded.config.mcp_servers.values()
    return spec


def told(notes: tuple[ConfigProblem, ...]) -> str:
    return "\n".join(str(note) for note in notes)


# What each client writes. Taken from their documentation; each with what has to come of it.
FILES: list[tuple[str, str, dict[str, Any]]] = [
    (
        "claude_desktop_config.json",
        """{"mcpServers": {"GitHub": {"command": "npx", "args": ["-y", "server-github"],
            "env": {"GITHUB_TOKEN": "x"}}}, "globalShortcut": "Ctrl+Space"}""",
        {"command": "npx", "args": ("-y", "server-github")},
    ),
    (
        ".mcp.json",  # Claude Code
        """{"mcpServers": {"api": {"type": "http", "url": "${API:-https://h/x}/mcp",
            "headers": {"Authorization": "Bearer ${KEY}"}, "oauth": {"clientId": "c"}, "trust": true}}}""",
        {"url": "https://h/x/mcp", "headers": {"Authorization": "Bearer k"}},
    ),
    (
        ".cursor/mcp.json",
        """{"mcpServers": {"s": {"command": "${workspaceFolder}/bin/server",
            "args": ["--home", "${userHome}"], "envFile": ".env", "env": {"A": "${env:KEY}"}}}}""",
        {"command": "{folder}/bin/server", "env": {"A": "k"}},
    ),
    (
        ".vscode/mcp.json",
        """{
          // Inputs are asked for once.
          "inputs": [{"type": "promptString", "id": "perplexity-key", "password": true},],
          "servers": {
            "Perplexity": {"type": "stdio", "command": "npx", "args": ["-y", "server-perplexity"],
              "env": {"PERPLEXITY_API_KEY": "${input:perplexity-key}"}, /* its place in the gallery */
              "gallery": true, "version": "1.0.0", "dev": {"watch": "src/**"},},
          },
        }""",
        {"command": "npx", "env": {"PERPLEXITY_API_KEY": "from the environment"}},
    ),
    (
        "settings.json",  # VS Code, before it had mcp.json
        '{"editor.fontSize": 12, "mcp": {"servers": {"a": {"url": "http://h/sse", "type": "sse"}}}}',
        {"url": "http://h/sse", "kind": "sse"},
    ),
    (
        "mcp_config.json",  # Windsurf
        """{"mcpServers": {"remote": {"serverUrl": "https://h/${env:KEY}/mcp", "disabledTools": ["drop"],
            "headers": {"X": "${env:KEY}"}}}}""",
        {"url": "https://h/k/mcp", "headers": {"X": "k"}, "leave_out": ("drop",)},
    ),
    (
        "cline_mcp_settings.json",
        """{"mcpServers": {"linear": {"url": "https://h/mcp", "type": "streamableHttp", "disabled": false,
            "autoApprove": ["x"], "alwaysAllow": [], "timeout": 60, "env": {}, "args": []}}}""",
        {"url": "https://h/mcp", "kind": "http", "timeout_s": None},
    ),
    (
        "cline_cli.json",
        """{"mcpServers": {"nested": {"transport": {"type": "stdio", "command": "node", "args": ["s.js"]},
            "remoteConfigured": true, "metadata": {}}}}""",
        {"command": "node", "args": ("s.js",)},
    ),
    (
        ".roo/mcp.json",
        """{"mcpServers": {"s": {"command": "cmd", "args": ["/c", "npx"], "alwaysAllow": ["a"], "timeout": 60,
            "watchPaths": ["/x"], "disabledTools": ["b"], "cwd": "/tmp"}}}""",
        {"command": "cmd", "leave_out": ("b",)},
    ),
    (
        "zed.json",
        """{
          "theme": "One", // not ours
          "context_servers": {
            "my-server": {"source": "custom", "enabled": true, "command": "uv", "args": ["run"],
                          "env": null, "settings": {}},
          },
        }""",
        {"command": "uv", "args": ("run",), "disabled": False},
    ),
    (
        "zed-before.json",
        """{"context_servers": {"old": {"command": {"path": "/bin/server", "args": ["run"],
            "env": {"A": "b"}}, "settings": {}}}}""",
        {"command": "/bin/server", "args": ("run",), "env": {"A": "b"}},
    ),
    (
        "gemini/settings.json",
        """{"theme": "Dracula", "mcpServers": {"tools": {"httpUrl": "https://h/mcp", "trust": true,
            "headers": {"Authorization": "Bearer $KEY", "X-Key": "$KEY"}, "timeout": 5000,
            "includeTools": ["one", "two"], "excludeTools": ["two"], "authProviderType": "x"}}}""",
        {
            "url": "https://h/mcp",
            "headers": {"Authorization": "Bearer k", "X-Key": "k"},
            "only": ("one", "two"),
            "leave_out": ("two",),
        },
    ),
    (
        "config.toml",  # Codex
        """model = "gpt"
[tools]
web_search = true
[mcp_servers.docs]
url = "https://h/mcp"
bearer_token_env_var = "KEY"
env_http_headers = { X-Org = "KEY" }
http_headers = { X-Plain = "p" }
startup_timeout_sec = 20
tool_timeout_sec = 45
enabled = true
disabled_tools = ["rm"]
""",
        {
            "url": "https://h/mcp",
            "headers": {"Authorization": "Bearer k", "X-Org": "k", "X-Plain": "p"},
            "leave_out": ("rm",),
        },
    ),
    (
        "continue.json",
        """{"name": "My", "version": "0.0.1", "schema": "v1", "mcpServers": [
            {"name": "Browser Tools", "command": "npx", "args": ["b", 5], "env": {"K": "${{ secrets.KEY }}"},
             "connectionTimeout": 5000}]}""",
        {"command": "npx", "args": ("b", "5"), "env": {"K": "k"}, "title": "Browser Tools"},
    ),
    (
        "lm-studio.json",
        """{"mcpServers": {"hf": {"url": "https://h/mcp", "headers": {"Authorization": "Bearer x"}}}}""",
        {"url": "https://h/mcp"},
    ),
    (
        "amazon-q.json",
        """{"mcpServers": {"awslabs.aws-documentation-mcp-server": {"command": "uvx",
            "args": ["awslabs.aws-documentation-mcp-server@latest"], "env": {"PORT": 80, "DEBUG": true},
            "disabled": false, "autoApprove": [], "timeout": 60000}}}""",
        {"command": "uvx", "env": {"PORT": "80", "DEBUG": "true"}},
    ),
    (
        "goose.json",
        """{"mcpServers": {"g": {"type": "streamable_http", "uri": "https://h/mcp", "envs": {},
            "env_keys": [], "enabled": true, "bundled": null, "timeout": 300, "available_tools": [],
            "name": "g", "description": ""}}}""",
        {"url": "https://h/mcp", "only": ()},
    ),
    (
        "goose-stdio.json",
        """{"mcpServers": {"g": {"type": "stdio", "cmd": "npx", "args": ["x"], "envs": {"A": "b"},
            "env_keys": ["KEY"], "enabled": true}}}""",
        {"command": "npx", "env": {"A": "b", "KEY": "k"}},
    ),
    (
        "copilot.json",
        """{"mcpServers": {"c": {"type": "local", "command": ["npx", "-y", "x"], "args": ["z"],
            "tools": ["*"]}}}""",
        {"command": "npx", "args": ("-y", "x", "z"), "only": ()},
    ),
    (
        "opencode.json",
        """{"$schema": "https://opencode.ai/config.json", "mcp": {"o": {"type": "local",
            "command": ["bun", "x", "s"], "environment": {"A": "{env:KEY}"}, "enabled": true},
            }}""",
        {"command": "bun", "args": ("x", "s"), "env": {"A": "k"}},
    ),
    (
        "mcp-remote.json",  # the program fills that in by itself, from its own environment
        """{"mcpServers": {"m": {"command": "npx", "args": ["mcp-remote", "--header", "Auth:${HEADER}"],
            "env": {"HEADER": "Bearer x"}}}}""",
        {"args": ("mcp-remote", "--header", "Auth:${HEADER}"), "env": {"HEADER": "Bearer x"}},
    ),
]


@pytest.mark.parametrize(("name", "text", "wanted"), FILES, ids=[name for name, _, _ in FILES])
def test_a_client_s_own_file_is_taken_as_it_is(
    tmp_path: Path, name: str, text: str, wanted: dict[str, Any]
) -> None:
    environ = {"KEY": "k", "PERPLEXITY_KEY": "from the environment"}
    spec = only(load_file(tmp_path, name, text, environ))
    plain = {key: value.get_secret_value() for key, value in {**spec.env, **spec.headers}.items()}
    for key, value in wanted.items():
        if key in ("env", "headers"):
            assert plain == value
        elif key in ("only", "leave_out"):
            assert getattr(spec.tools, key) == value
        else:
            expected = value.format(folder=tmp_path) if key == "command" else value
            assert getattr(spec, key) == expected, key


def test_what_is_ignored_is_told_with_what_to_write_instead(tmp_path: Path) -> None:
    text = """{"mcpServers": {"My Server": {"command": "x", "autoApprove": ["a"], "gallery": true,
        "timeout": 60000, "envFile": ".env", "future": 1}}, "theme": "x"}"""
    notes = told(load_file(tmp_path, "mcp.json", text).notes)
    assert 'mcpServers."My Server"' in notes
    for word in ("autoApprove", "gallery", "timeout_s", "envFile", "future", "theme", "my-server__"):
        assert word in notes


@pytest.mark.parametrize("key", ["autoApprove", "alwaysAllow", "gallery", "timeout"])
def test_a_pasted_entry_in_our_own_file_may_have_its_keys(load_text: LoadText, key: str) -> None:
    loaded = load_text(f"[mcpServers.GitHub]\ncommand = 'x'\n{key} = 5")
    assert list(loaded.config.mcp_servers) == ["github"]
    assert key in told(loaded.notes)


def test_a_word_that_nobody_knows_is_still_a_problem_in_our_own_file(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("[mcpServers.a]\ncommand = 'x'\nisolatoin = 'auto'")
    assert (problem.key_path, problem.hint) == ("mcpServers.a.isolatoin", 'Did you mean "isolation"?')


@pytest.mark.parametrize(
    "entry",
    ['"disabled": true', '"enabled": false', '"disabled": true, "enabled": true', '"isActive": false'],
)
def test_disabled_means_disabled_however_it_is_written(tmp_path: Path, entry: str) -> None:
    assert only(
        load_file(tmp_path, "x.json", f'{{"mcpServers": {{"a": {{"command": "x", {entry}}}}}}}')
    ).disabled


@pytest.mark.parametrize("rule", ['"excluded": ["b"]', '"allowed": ["a"]'])
def test_a_server_that_gemini_s_own_rules_exclude_is_disabled(tmp_path: Path, rule: str) -> None:
    text = f'{{"mcp": {{{rule}}}, "mcpServers": {{"a": {{"command": "x"}}, "b": {{"command": "y"}}}}}}'
    servers = load_file(tmp_path, "settings.json", text).config.mcp_servers
    assert {name: spec.disabled for name, spec in servers.items()} == {"a": False, "b": True}


def test_the_id_of_a_disabled_server_is_not_told(tmp_path: Path) -> None:
    text = '{"mcpServers": {"old one": {"command": "x", "disabled": true}, "new one": {"command": "x"}}}'
    notes = told(load_file(tmp_path, "mcp.json", text).notes)
    assert "old-one" not in notes
    assert "new-one" in notes


def test_a_key_is_told_in_a_note_only_as_far_as_it_is_harmless(tmp_path: Path) -> None:
    keys = {"\u202e" + "k" * 5000: 1, "mysql://u:hunter2@h": 2}
    text = json.dumps({"mcpServers": {"a": {"command": "x", **keys}}, **keys})
    notes = told(load_file(tmp_path, "x.json", text).notes)
    assert len(notes) < 1000
    assert "hunter2" not in notes
    assert "\u202e" not in notes


@pytest.mark.parametrize("table", ["mcpServers", "servers", "mcp_servers", "context_servers"])
def test_each_client_s_word_for_the_table_is_known_in_our_own_file_too(
    load_text: LoadText, table: str
) -> None:
    loaded = load_text(f"[{table}.a]\nurl = 'http://x/'")
    assert list(loaded.config.mcp_servers) == ["a"]


def test_a_problem_names_the_file_the_entry_and_the_key_as_they_are_written(tmp_path: Path) -> None:
    text = '{"servers": {"Git Hub": {"serverUrl": "ftp://x"}, "B": {"type": "http"}}}'
    with pytest.raises(ConfigProblems) as caught:
        load_file(tmp_path, "mcp.json", text)
    assert str(tmp_path / "mcp.json") in caught.value.message
    paths = {problem.key_path for problem in caught.value.problems}
    assert paths == {'servers."Git Hub".serverUrl', "servers.B"}


def test_one_server_in_two_tables_is_a_problem(tmp_path: Path) -> None:
    text = '{"servers": {"a": {"command": "x"}}, "mcpServers": {"a": {"command": "y"}}}'
    (problem,) = problems_in(tmp_path, "mcp.json", text)
    assert problem.key_path == "servers.a"
    assert "mcpServers.a" in problem.message


def test_a_file_without_servers_says_where_they_are_looked_for(tmp_path: Path) -> None:
    (problem,) = problems_in(tmp_path, "settings.json", '{"theme": "x"}')
    assert "mcpServers" in problem.hint
    assert "context_servers" in problem.hint


def test_our_own_format_may_be_json(tmp_path: Path) -> None:
    loaded = load_file(
        tmp_path, "callgate.json", '{"version": 1, "server": {"tool_search": true}, "mcpServers": {}}'
    )
    assert loaded.config.server.tool_search
    (problem,) = problems_in(tmp_path, "callgate.json", '{"version": 1, "sever": {}}')
    assert problem.hint == 'Did you mean "server"?'


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"mcpServers": {"a": \n {"command": }}}', "line 2, column 14"),
        ('// a comment\n{"mcpServers": [}', "line 2, column 17"),
        ('{"a": 1', "line 1"),
        ("[" * 200_000, "deep"),
        ("[1]", "object"),
    ],
)
def test_a_json_file_that_cannot_be_read_says_where(tmp_path: Path, text: str, where: str) -> None:
    (problem,) = problems_in(tmp_path, "mcp.json", text)
    assert where in problem.message


def test_what_looks_like_a_comment_inside_a_text_is_text(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "args": ["http://h//*x*/", "a,}", "\\\\"], /* y, } */ }}}'
    assert only(load_file(tmp_path, "x.json", text)).args == ("http://h//*x*/", "a,}", "\\")


def test_a_yaml_file_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (problem,) = problems_in(tmp_path, "config.yaml", "extensions:\n  a: 1\n")
    assert "YAML" in problem.message
    assert "JSON" in problem.hint


def test_an_input_that_vs_code_would_ask_for_is_said_to_be_missing(tmp_path: Path) -> None:
    text = """{"inputs": [{"id": "my.key", "type": "promptString", "description": "The key of the shop"},
                         {"id": "region", "type": "promptString", "default": "eu"}],
               "servers": {"a": {"command": "x", "env": {"K": "${input:my.key}", "R": "${input:region}"}}}}"""
    (problem,) = problems_in(tmp_path, "mcp.json", text)
    assert problem.key_path == "servers.a.env.K"
    assert "MY_KEY" in problem.hint
    assert "The key of the shop" in problem.hint
    spec = only(load_file(tmp_path, "mcp.json", text, {"MY_KEY": "k"}))
    assert spec.env["R"].get_secret_value() == "eu"


def test_a_dollar_inside_a_text_is_itself(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "env": {"P": "pa$WORD", "Q": "$$KEY"}, "args": ["$HOME"]}}}'
    spec = only(load_file(tmp_path, "x.json", text, {"WORD": "no", "KEY": "no", "HOME": "no"}))
    assert [value.get_secret_value() for value in spec.env.values()] == ["pa$WORD", "$KEY"]
    assert spec.args == ("$HOME",)


def test_a_file_address_in_another_client_s_file_is_no_secret_file_of_ours(tmp_path: Path) -> None:
    text = '{"mcpServers": {"a": {"command": "x", "env": {"DATABASE_URL": "file:./dev.db"}}}}'
    assert only(load_file(tmp_path, "x.json", text)).env["DATABASE_URL"].get_secret_value() == "file:./dev.db"


# ---- names


NAMES = [
    ("github", "github"),
    ("GitHub", "github"),
    ("awslabs.aws-documentation-mcp-server", "awslabs-aws-documentation-mcp-server"),
    ("io.github.upstash/context7", "io-github-upstash-context7"),
    ("My Server (new)", "my-server-new"),
    ("a__b", "a_b"),
    ("../x", "x"),
    ("Café", "cafe"),
    ("_private_", "private"),
]


@pytest.mark.parametrize(("written", "derived"), NAMES)
def test_a_name_is_taken_as_it_is_written_and_an_id_made_of_it(
    load_text: LoadText, written: str, derived: str
) -> None:
    loaded = load_text(f"[mcpServers.'{written}']\ncommand = 'x'")
    ((made, spec),) = loaded.config.mcp_servers.items()
    assert (made, spec.title or made) == (derived, written)
    assert (f'"{derived}"' in told(loaded.notes)) is (written != derived)


@pytest.mark.parametrize(
    "written", ["", " ", "天气", "\u202eevil\u0000\n", LONG, LONG + "x", "..", "-", "__"]
)
def test_no_name_is_too_odd_to_be_offered_and_each_gets_its_own_id(tmp_path: Path, written: str) -> None:
    text = json.dumps({"mcpServers": {name: {"command": "x"} for name in (written, "server", "n", LONG)}})
    loaded = load_file(tmp_path, "x.json", text)
    ids = list(loaded.config.mcp_servers)
    assert len(set(ids)) == len({written, "server", "n", LONG})
    assert all(is_entry_name(one) and len(one) <= 64 for one in ids)
    for spec in loaded.config.mcp_servers.values():
        assert len(spec.title or "") <= 100
        assert (spec.title or "x").isprintable()
    assert max(len(str(note)) for note in loaded.notes) < 500
    assert told(loaded.notes).replace("\n", "").isprintable()
    again = load_file(tmp_path, "x.json", text)
    assert list(again.config.mcp_servers) == ids


def test_names_that_are_equal_after_derivation_stay_apart_whatever_their_order(tmp_path: Path) -> None:
    names = ["GitHub", "git hub", "github", "GITHUB", "shop"]
    by_order = []
    for order in (names, names[::-1]):
        entries = {name: {"command": name} for name in order}
        spec = load_file(tmp_path, "x.json", json.dumps({"mcpServers": entries})).config.mcp_servers
        by_order.append({one.command: made for made, one in spec.items()})
    assert by_order[0] == by_order[1]
    assert by_order[0]["github"] == "github"
    assert len(set(by_order[0].values())) == 5
    assert by_order[0]["GitHub"].startswith("github-")


def test_a_derived_id_gives_way_to_a_source_s(load_text: LoadText) -> None:
    source = "[[sources]]\nid = 'shop'\ndsn = 'sqlite:///x.db'\n"
    (made,) = load_text(f"{source}[mcpServers.Shop]\ncommand = 'x'").config.mcp_servers
    assert made.startswith("shop-")
    (made,) = load_text("[mcpServers.Record]\ncommand = 'x'").config.mcp_servers
    assert made.startswith("record-")


def test_what_is_shown_is_a_file_that_means_the_same(load_text: LoadText, tmp_path: Path) -> None:
    shown = masked(
        load_text(
            "[mcpServers.'Git Hub']\ncommand = ['npx', '-y']\n[mcpServers.GITHUB]\nurl='http://x/'"
        ).config
    )
    assert shown["mcpServers"]["git-hub"]["title"] == "Git Hub"
    again = load_file(tmp_path, "again.toml", tomlkit.dumps(shown))
    assert masked(again.config) == shown


# ---- tools of one server


def test_tools_of_a_server_may_be_left_out_and_have_limits_of_their_own(load_text: LoadText) -> None:
    loaded = load_text(
        "[mcpServers.a]\ncommand = 'x'\n"
        "tools = { leave_out = ['odd', 'drop_*'], only = ['a'], timeout_s = { slow = 900 } }"
    )
    tools = only(loaded).tools
    assert (tools.leave_out, tools.only, dict(tools.timeout_s)) == (
        ("odd", "drop_*"),
        ("a",),
        {"slow": 900.0},
    )


def test_a_wrong_word_about_tools_is_told(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("[mcpServers.a]\ncommand = 'x'\ntools = { leaveout = ['odd'] }")
    assert (problem.key_path, problem.hint) == ("mcpServers.a.tools.leaveout", 'Did you mean "leave_out"?')


@pytest.mark.parametrize(
    ("written", "only", "leave_out"),
    [
        ({"tools": []}, None, ["*"]),
        ({"includeTools": []}, None, ["*"]),
        ({"tools": ["*"]}, None, None),
        ({"excludeTools": "delete_all"}, None, ["delete_all"]),
        ({"excludeTools": ["a"], "disabledTools": ["b"]}, None, ["a", "b"]),
        ({"includeTools": "read"}, ["read"], None),
    ],
    ids=str,
)
def test_what_a_client_left_out_stays_left_out(
    written: dict[str, Any], only: list[str] | None, leave_out: list[str] | None
) -> None:
    tools = adopt_entry({"command": "server", **written}, is_foreign=True).table.get("tools", {})
    assert (tools.get("only"), tools.get("leave_out")) == (only, leave_out)


@pytest.mark.parametrize("no", [False, "false", "No", "0"])
def test_a_server_that_is_switched_off_in_words_stays_off(no: object) -> None:
    assert adopt_entry({"command": "server", "enabled": no}, is_foreign=True).table["disabled"] is True
