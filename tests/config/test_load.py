"""What a good configuration becomes, and who has the last word."""

import secrets
from collections.abc import Callable
from pathlib import Path

import pytest
from config.conftest import LoadText

from callgate.config.load import ConfigProblems, Flags, load_config
from callgate.config.paths import record_folder, state_folder

FULL = """
[server]
listen = "0.0.0.0:8080"
tokens = ["${CALLGATE_TOKEN}", { token = "9f3c27d1a8e64b05", principal = "ci" }]
allowed_hosts = ["gate.example"]
allowed_origins = ["https://gate.example"]
max_body = "1MiB"
audit_stderr = true
tool_search = true
state_dir = "state"

[[sources]]
id = "shop"
dsn = "mysql://agent:${SHOP_PASSWORD}@db/shop?ssl=verify"
mode = "write"
timeout_s = 5
max_rows = "${ROWS}"
character_limit = 100
require_qualified = false
allow_ddl = true
allow_functions = ["shop.total"]
pool_size = 2

[[sources]]
id = "files"
dsn = "sqlite:///data/x.db"

[[tools]]
name = "orders_by_customer"
source = "shop"
sql = "SELECT * FROM shop.orders WHERE customer_id = :customer_id LIMIT :n"
description = "Orders"
params.customer_id = { type = "integer", description = "who" }
params.n = { type = "integer", default = 10 }

[mcpServers.github]
type = "streamable-http"
url = "https://api.githubcopilot.com/mcp/"
headers = { Authorization = "Bearer ${GITHUB_TOKEN}" }

[mcpServers.old]
transport = "sse"
url = "http://localhost:1/sse"

[mcpServers.files2]
type = "stdio"
command = "npx"
args = ["-y", "server"]
env = { API_KEY = "k" }
cwd = "work"
disabled = true
timeout_s = 2.5
isolation = "session"

[record]
enabled = true
path = "rec"
keep = "7d"
max_size = "500MB"
max_body = "0"
redact_keys = ["ssn"]
redact_patterns = ["^x+$"]
on_failure = "refuse"
sync = "interval"
session_gap = "90s"
offer = true

[policy]
destructive = "deny"
[otel]
enabled = true
endpoint = "https://collector.example:4318"
service_name = "gate"
sample_ratio = 0.25
metrics = false
sql_text = true
[otel.headers]
x-key = "${GITHUB_TOKEN}"
"""
ENVIRON = {
    "CALLGATE_TOKEN": "kX7-vq2LmZ9_wR4tB0aD",
    "SHOP_PASSWORD": "p@ss/word#1",
    "ROWS": "50",
    "GITHUB_TOKEN": "gh",
}


def test_every_key_of_a_full_file_arrives(load_text: LoadText, tmp_path: Path) -> None:
    loaded = load_text(FULL, ENVIRON)
    config = loaded.config
    assert (loaded.origin, loaded.warnings) == (tmp_path / "callgate.toml", ())
    server = config.server
    assert (server.listen.host, server.listen.port, server.listen_is_default) == ("0.0.0.0", 8080, False)
    assert [(t.token.get_secret_value(), t.principal) for t in server.tokens] == [
        ("kX7-vq2LmZ9_wR4tB0aD", "token-1"),
        ("9f3c27d1a8e64b05", "ci"),
    ]
    assert (server.max_body_bytes, server.audit_stderr, server.tool_search) == (1024**2, True, True)
    assert (server.allowed_hosts, server.allowed_origins) == (("gate.example",), ("https://gate.example",))
    shop, files = config.sources
    assert shop.dsn.password is not None
    assert shop.dsn.password.get_secret_value() == "p@ss/word#1"
    assert (shop.mode, shop.timeout_s, shop.max_rows, shop.character_limit) == ("write", 5, 50, 100)
    assert (shop.require_qualified, shop.allow_ddl, shop.pool_size) == (False, True, 2)
    assert (shop.allow_functions, shop.from_environment) == (("shop.total",), False)
    assert files.dsn.path == str(tmp_path / "data/x.db")
    (tool,) = config.tools
    assert {name: param.is_required for name, param in tool.params.items()} == {
        "customer_id": True,
        "n": False,
    }
    github, old, files2 = config.mcp_servers.values()
    assert (github.kind, old.kind, files2.kind) == ("http", "sse", "stdio")
    assert github.headers["Authorization"].get_secret_value() == "Bearer gh"
    assert (files2.args, files2.cwd, files2.disabled) == (("-y", "server"), tmp_path / "work", True)
    assert (files2.timeout_s, files2.isolation, files2.env["API_KEY"].get_secret_value()) == (
        2.5,
        "session",
        "k",
    )
    record = config.record
    assert (record.enabled, record.keep_s, record.session_gap_s) == (True, 7 * 86400, 90)
    assert (record.max_size_bytes, record.max_body_bytes) == (500_000_000, 0)
    assert (record.redact_keys, record.redact_patterns) == (("ssn",), ("^x+$",))
    assert (record.on_failure, record.sync, record.offer) == ("refuse", "interval", True)
    assert config.policy.destructive == "deny"
    otel = config.otel
    assert (otel.enabled, otel.endpoint, otel.service_name) == (
        True,
        "https://collector.example:4318",
        "gate",
    )
    assert (otel.sample_ratio, otel.metrics, otel.sql_text) == (0.25, False, True)
    assert otel.headers["x-key"].get_secret_value() == "gh"
    assert (state_folder(config), record_folder(config)) == (tmp_path / "state", tmp_path / "rec")


def test_without_a_file_the_defaults_hold(tmp_path: Path) -> None:
    loaded = load_config(environ={})
    assert loaded.origin is None
    assert loaded.config.is_empty
    assert str(loaded.config.server.listen) == "127.0.0.1:7420"
    assert loaded.config.server.listen_is_default
    assert loaded.config.record.keep_s == 30 * 86400
    assert state_folder(loaded.config) == tmp_path / "xdg_state" / "callgate"
    assert record_folder(loaded.config) == tmp_path / "xdg_state" / "callgate" / "record"


def test_specs_cannot_be_changed(load_text: LoadText) -> None:
    config = load_text("").config
    with pytest.raises(AttributeError):
        config.server.audit_stderr = True  # pyright: ignore[reportAttributeAccessIssue]


def test_the_file_is_searched_in_order(tmp_path: Path) -> None:
    def write(path: Path, port: int) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f'version = 1\nserver.listen = "127.0.0.1:{port}"')
        return path

    user = write(tmp_path / "xdg_config/callgate/callgate.toml", 1)
    assert load_config(environ={}).origin == user
    here = write(tmp_path / "callgate.toml", 2)
    assert load_config(environ={}).origin == here
    by_variable = write(tmp_path / "b.toml", 3)
    environ = {"CALLGATE_CONFIG": "b.toml"}
    assert load_config(environ=environ).origin == by_variable
    by_flag = write(tmp_path / "c.toml", 4)
    loaded = load_config(Flags(config=Path("c.toml")), environ)
    assert (loaded.origin, loaded.config.server.listen.port) == (by_flag, 4)


def test_flags_win_over_environment_over_file_over_default(load_text: LoadText) -> None:
    text = '[server]\nlisten = "127.0.0.1:1"\n[record]\nkeep = "1d"\n'
    environ = {"CALLGATE_SERVER_LISTEN": "localhost:2", "CALLGATE_RECORD_MAX_SIZE": "3MB"}
    config = load_text(text, environ, Flags(port=0)).config
    assert str(config.server.listen) == "localhost:0"
    assert (config.record.keep_s, config.record.max_size_bytes) == (86400, 3_000_000)
    assert config.record.session_gap_s == 1800


def test_an_override_spares_the_file_s_value_from_being_read(load_text: LoadText) -> None:
    text = '[record]\nkeep = "${NOT_SET}"\n'
    assert load_text(text, {"CALLGATE_RECORD_KEEP": "2d"}).config.record.keep_s == 2 * 86400


def test_environment_values_are_taken_as_they_are(load_text: LoadText, tmp_path: Path) -> None:
    config = load_text("", {"CALLGATE_RECORD_PATH": "${X}"}).config
    assert config.record.path == tmp_path / "${X}"


def test_the_state_folder_can_be_set_three_ways(load_text: LoadText, tmp_path: Path) -> None:
    text = '[server]\nstate_dir = "file"\n'
    assert state_folder(load_text(text).config) == tmp_path / "file"
    environ = {"CALLGATE_SERVER_STATE_DIR": "generated", "CALLGATE_STATE_DIR": "env"}
    assert state_folder(load_text(text, environ).config) == tmp_path / "env"
    flags = Flags(state_dir=Path("flag"))
    assert state_folder(load_text(text, environ, flags).config) == tmp_path / "flag"


def test_paths_in_a_file_are_relative_to_it(tmp_path: Path) -> None:
    folder = tmp_path / "etc"
    folder.mkdir()
    (folder / "token").write_text("9f3c27d1a8e64b05")
    text = 'version = 1\n[server]\nstate_dir = "s"\ntokens = ["file:token"]\n'
    (folder / "c.toml").write_text(text + '[[sources]]\nid = "a"\ndsn = "duckdb:///a.db"')
    config = load_config(Flags(config=folder / "c.toml"), {}).config
    assert config.server.state_dir == folder / "s"
    assert config.sources[0].dsn.path == str(folder / "a.db")


def test_an_empty_variable_counts_as_unset(load_text: LoadText) -> None:
    environ = {"CALLGATE_RECORD_KEEP": "", "MYSQL_HOST": "", "DATABASE_URL": "", "CALLGATE_CONFIG": ""}
    loaded = load_text("", environ)
    assert loaded.config.is_empty
    assert loaded.config.record.keep_s == 30 * 86400


def test_an_unknown_variable_of_ours_is_a_warning(load_text: LoadText) -> None:
    loaded = load_text("", {"CALLGATE_RECORD_KEPT": "1d", "CALLGATE_TOKEN": "x", "CALLGATE_X": "y"})
    assert [(w.key_path, w.hint) for w in loaded.warnings] == [
        ("CALLGATE_RECORD_KEPT", 'Did you mean "CALLGATE_RECORD_KEEP"?')
    ]


def test_a_named_file_that_is_not_there_is_a_problem(tmp_path: Path) -> None:
    for flags, environ, name in [
        (Flags(config=Path("no.toml")), {}, "--config"),
        (None, {"CALLGATE_CONFIG": "no.toml"}, "CALLGATE_CONFIG"),
    ]:
        with pytest.raises(ConfigProblems) as caught:
            load_config(flags, environ)
        assert [problem.key_path for problem in caught.value.problems] == [name]
        assert str(tmp_path / "no.toml") in caught.value.message


@pytest.mark.parametrize("make", [lambda: secrets.token_urlsafe(32), lambda: secrets.token_hex(16)])
def test_a_random_token_is_never_called_weak(load_text: LoadText, make: Callable[[], str]) -> None:
    tokens = [make() for _ in range(200)]
    assert len(load_text(f"[server]\ntokens = {tokens}").config.server.tokens) == 200
