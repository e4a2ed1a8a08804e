"""Which values of a configuration count as secrets: those that its words, names or looks give away, and no
honest word."""

import json
from pathlib import Path

import pytest

from callgate.app.redaction.redactors import redactors_of, secrets_of
from callgate.config.load import Flags, load_config
from callgate.config.secret_source import StatePlace

HOME = "/home/ada"


class Kept:
    """Implements `SecretSource`: what a vault and a program would say."""

    def stored(self, name: str, place: StatePlace) -> str:
        return {"short": "q7#x", "tiny": "abc", "pin": "4711", "word": "dragon", "same": "shop"}[name]

    def printed(self, command: object) -> str:
        return "printed secret 1"


def secrets(folder: Path, text: str, **variables: str) -> set[str]:
    file = folder / "callgate.toml"
    file.write_text(f"version = 1\n[server]\nstate_dir = {json.dumps(str(folder))}\n{text}")
    loaded = load_config(Flags(config=file), {"HOME": HOME, **variables}, secrets=Kept())
    assert not any(secret in repr(loaded) for secret in secrets_of(loaded.config))
    return set(secrets_of(loaded.config))


def child(env: str = "", args: str = "[]") -> str:
    return f'[mcpServers.one]\ncommand = "x"\nargs = {args}\nenv = {{ {env} }}\n'


@pytest.mark.parametrize(
    ("env", "found"),
    [
        ('A = "secret:short"', {"q7#x"}),
        ('A = "exec:op read x"', {"printed secret 1"}),
        ('A = "file:given.txt"', {"content of a file"}),
        ('A = "Bearer ${secret:word}"', {"dragon"}),
        ('A = "x-${GITHUB_TOKEN}-y"', {"tok-1"}),
        ('GITHUB_TOKEN = "tok-9"', {"tok-9"}),
        ('A = "${ODD}"', {"aB3dE5gH7jK9"}),
        ('A = "${ODD:-zY8xW7vU6tS5}"', {"aB3dE5gH7jK9"}),
        ('A = "${UNSET_TOKEN:-fallback-1}"', {"fallback-1"}),
        ('A = "postgres://me:pw-1@db.example/shop"', {"pw-1"}),
        ('A = "Server=db;User=me;Password=pw-2;"', {"pw-2"}),
        ("""A = '{"user": "ada", "password": "pw-3"}'""", {"pw-3"}),
    ],
    ids=range(12),
)
def test_what_stands_in_a_variable_of_a_server(tmp_path: Path, env: str, found: set[str]) -> None:
    (tmp_path / "given.txt").write_text("content of a file\n")
    assert secrets(tmp_path, child(env), GITHUB_TOKEN="tok-1", ODD="aB3dE5gH7jK9") == found


@pytest.mark.parametrize(
    "value",
    [
        "true", "3306", "localhost", "admin", "debug", "eu-central-1", "db.internal.example.com",
        "/var/lib/x1y2z3w4", "https://api.example.com/v2/a1b2c3d4", "9b2f3c1e-1111-2222-3333-444455556666",
        "gpt-4o-2024-08-06", "2026-11-19T10:00:00Z", "production", "@scope/server-github@2025.4.8", "", "x",
        "MyProject-2024-Prod01",
        "Jane Doe", "1234567890123456", "UTF-8", "a1,b2,c3,d4,e5,f6",
    ],
)  # fmt: skip
def test_an_honest_word_in_a_variable_of_any_name_does_not_count(tmp_path: Path, value: str) -> None:
    text = child('A = "${ANY}", B = "${ANY}-x"', '["${ANY}", "--level=${ANY}", "--level", "${ANY}"]')
    assert secrets(tmp_path, text, ANY=value) == set()


@pytest.mark.parametrize(
    "value", ["true", "3306", "4711081", "localhost", "admin", "changeme", "aaaa", "abc", "one", "***", ""]
)
def test_a_common_word_does_not_count_even_where_a_secret_stands(tmp_path: Path, value: str) -> None:
    assert secrets(tmp_path, child('API_TOKEN = "${API_TOKEN}"'), API_TOKEN=value) == set()


@pytest.mark.parametrize("value", ["call", "tools", "method", "JSONRPC", "dummy", "not-needed", "ollama"])
def test_words_of_the_protocol_and_of_those_who_have_no_key_do_not_count(tmp_path: Path, value: str) -> None:
    """The record would have no `tools/call` in it any more."""
    assert secrets(tmp_path, child(f'API_KEY = "{value}"')) == set()


@pytest.mark.parametrize(
    ("name", "found"), [("same", set()), ("pin", set()), ("tiny", set()), ("word", {"dragon"})]
)
def test_a_number_and_a_name_of_the_configuration_do_not_count_and_a_word_does(
    tmp_path: Path, name: str, found: set[str]
) -> None:
    dsn = f"mysql://ada:${{secret:{name}}}@db.example/stock"
    assert secrets(tmp_path, f'[[sources]]\nid = "shop"\ndsn = "{dsn}"\n') == found


def test_arguments_headers_and_addresses(tmp_path: Path) -> None:
    args = ["--token", "tok-2", "--region=eu-central-1", "--header", "X-Api-Key: key-3"]
    args += ["--level", "info", "-v"]
    text = child(args=json.dumps(args)) + (
        '[mcpServers.two]\nurl = "https://ada:p%40ss-4@h.example/${IN_PATH}/mcp?api_key=key-5&region=eu"\n'
        'headers = { Authorization = "Basic YWRhOnBhc3MtNg==", X-Tenant = "acme", X-Api-Key = "key-7" }\n'
    )
    found = secrets(tmp_path, text, IN_PATH="Pa1Th2Of3To4")
    assert {
        "tok-2",
        "key-3",
        "p@ss-4",
        "Pa1Th2Of3To4",
        "key-5",
        "YWRhOnBhc3MtNg==",
        "pass-6",
        "key-7",
    } <= found
    assert not found & {"info", "eu", "acme", "eu-central-1", "h.example", "ada", "-v"}


def test_passwords_tokens_and_keys_of_our_own(tmp_path: Path) -> None:
    text = """tokens = ["client-token-0123456789"]
[principals.eve]
token = "token-of-eve-9876543210"
[otel]
headers = { X-Api-Key = "key-8" }
[record]
store = "postgres://me:st%2Fore-9@db.example/record?reader=r&reader_password=reader-10"
[[sources]]
id = "shop"
dsn = "postgres://me:p%C3%A4ss-11@db.example/shop"
"""
    found = secrets(tmp_path, text)
    tokens = {"client-token-0123456789", "token-of-eve-9876543210", "key-8"}
    assert found == tokens | {"st/ore-9", "reader-10", "päss-11"}


def test_each_line_of_a_longer_value_counts(tmp_path: Path) -> None:
    lines = ["MIIabcdefghijklmno", "pqrstuvwxyzABCDEFG"]
    lines = ["-----BEGIN PRIVATE KEY-----", *lines, "-----END PRIVATE KEY-----"]
    (tmp_path / "key.pem").write_text("\n".join(lines))
    assert secrets(tmp_path, child('A = "file:key.pem"')) >= {"\n".join(lines), *lines[1:3]}


def test_a_megabyte_counts_whole(tmp_path: Path) -> None:
    value = "one two three " * 75_000
    assert secrets(tmp_path, child('API_TOKEN = "${API_TOKEN}"'), API_TOKEN=value) == {value.strip()}


def test_without_a_secret_nothing_is_looked_for(tmp_path: Path) -> None:
    file = tmp_path / "callgate.toml"
    file.write_text("version = 1\n" + child('LEVEL = "debug"'))
    redactors = redactors_of(load_config(Flags(config=file), {"HOME": HOME}).config)
    assert redactors.general.known is None
