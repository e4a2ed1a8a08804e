"""What is shown of a configuration, and that it never shows a secret."""

import json
import traceback
from pathlib import Path

import pytest
from config.conftest import LoadText
from examples import examples
from hypothesis import HealthCheck, assume, example, given, settings
from hypothesis import strategies as st

from callgate.config.load import ConfigProblems, Flags, load_config
from callgate.config.show import fingerprint, masked
from callgate.config.specs.config import Config

FULL = """
[server]
tokens = ["9f3c27d1a8e64b05", { token = "50b46e8a1d72c3f9", principal = "ci" }]
[[sources]]
id = "shop"
dsn = "mysql://agent:hunter2@db/shop?ssl=verify"
[mcpServers.web]
url = "https://u:hunter2@h/mcp?key=hunter2"
headers = { Authorization = "Bearer hunter2", Accept = "text/plain" }
[mcpServers.local]
command = "npx"
args = ["--token", "hunter2", "."]
env = { HOME = "hunter2" }
"""


def test_the_configuration_is_shown_as_the_file_would_say_it(load_text: LoadText) -> None:
    shown = masked(load_text(FULL).config)
    assert shown["server"]["listen"] == "127.0.0.1:7420"
    assert shown["server"]["max_body"] == "16MiB"
    assert shown["server"]["tokens"] == [
        {"token": "***", "principal": "token-1"},
        {"token": "***", "principal": "ci"},
    ]
    assert shown["sources"][0]["dsn"] == "mysql://agent:***@db/shop?ssl=verify"
    assert shown["mcpServers"]["web"]["url"] == "https://***@h/mcp?key=***"
    assert shown["mcpServers"]["web"]["headers"] == {"Authorization": "***", "Accept": "***"}
    assert shown["mcpServers"]["local"]["args"] == ["--token", "***", "."]
    assert shown["mcpServers"]["local"]["env"] == {"HOME": "***"}
    assert shown["record"]["keep"] == "30d"
    assert "hunter2" not in json.dumps(shown)


def test_no_other_view_of_the_configuration_shows_a_secret(load_text: LoadText) -> None:
    config = load_text(FULL).config
    views = [repr(config), str(config), json.dumps(config.shown()), repr(config.shown())]
    for secret in ("hunter2", "9f3c27d1a8e64b05", "50b46e8a1d72c3f9"):
        assert not [view for view in views if secret in view]


def test_what_is_shown_can_be_loaded_again_once_the_secrets_are_put_back(load_text: LoadText) -> None:
    config = load_text('[record]\nkeep = "36h"\nmax_size = "1500KB"\n').config
    shown = masked(config)
    again = type(config).read(shown)
    assert again == config


def test_the_fingerprint_follows_what_was_said_and_not_the_secrets(load_text: LoadText) -> None:
    first = fingerprint(load_text(FULL).config)
    assert first == fingerprint(load_text(FULL).config)
    assert first == fingerprint(load_text(FULL.replace("hunter2", "hunter3")).config)
    assert first != fingerprint(load_text(FULL.replace("agent", "root")).config)
    assert len(first) == 64


def test_the_fingerprint_does_not_ask_where_it_listens_nor_where_its_state_lies(load_text: LoadText) -> None:
    first = fingerprint(load_text(FULL).config)
    flags = Flags(host="127.0.0.2", port=7, state_dir=Path("elsewhere"))
    assert first == fingerprint(load_text(FULL, flags=flags).config)


FILLED_IN = """
[server]
tokens = ["file:secret"]
[[sources]]
id = "shop"
dsn = "mysql://agent:${V}@${V}/${V}?ssl=verify&sslpassword=hunter2"
[[sources]]
id = "whole"
dsn = "${WHOLE}"
[[sources]]
id = "ported"
dsn = "mysql://agent:hunter2@${V}:${PORT}/shop?application_name=hunter2"
[[sources]]
id = "kept"
dsn = "file:dsn"
[mcpServers.web]
url = "https://h/${V}/mcp?key=hunter2"
headers = { X-Thing = "${V}" }
[mcpServers.local]
command = "${V}/run"
args = ["${V:-hunter2}", "--path=${NOT_SET:-hunter2}", "-x", "plain"]
cwd = "${V}/work"
env = { HOME = "${V}" }
"""


def filled_in(load_text: LoadText, tmp_path: Path, value: str) -> Config:
    (tmp_path / "secret").write_text("hunter2-walks-the-moor")
    (tmp_path / "dsn").write_text("mysql://hunter2@hunter2/shop")
    environ = {"V": value, "WHOLE": f"mysql://{value}:{value}@{value}/{value}", "PORT": "3306"}
    return load_text(FILLED_IN, environ).config


def test_what_was_filled_in_is_shown_as_it_was_written(load_text: LoadText, tmp_path: Path) -> None:
    shown = masked(filled_in(load_text, tmp_path, "hunter2"))
    assert [source["dsn"] for source in shown["sources"]] == [
        "mysql://agent:***@${V}/${V}?ssl=verify&sslpassword=***",
        "${WHOLE}",
        "mysql://***@${V}:${PORT}/shop?application_name=***",
        "file:dsn",
    ]
    assert shown["mcpServers"]["web"]["url"] == "https://h/${V}/mcp?key=***"
    assert shown["mcpServers"]["web"]["headers"] == {"X-Thing": "***"}
    local = shown["mcpServers"]["local"]
    assert (local["command"], local["cwd"], local["env"]) == ("${V}/run", "${V}/work", {"HOME": "***"})
    assert local["args"] == ["${V:-***}", "--path=${NOT_SET:-***}", "-x", "plain"]
    assert "hunter2" not in json.dumps(shown)


def test_the_fingerprint_follows_what_a_variable_holds(load_text: LoadText, tmp_path: Path) -> None:
    first = filled_in(load_text, tmp_path, "one")
    second = filled_in(load_text, tmp_path, "two")
    assert masked(first) == masked(second)
    assert fingerprint(first) == fingerprint(filled_in(load_text, tmp_path, "one"))
    assert fingerprint(first) != fingerprint(second)


# A mark no sentence of ours contains, around what a generator thinks of: finding it means a leak.
PASSWORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=12).map(
    lambda text: f"QZ7{text}QZ7"
)
DSNS = st.sampled_from(
    [
        "mysql://root:{}@h/d",
        "mysql://root:{}@h:port/d",
        "mysql://root:{}@h h/d",
        "mysq://root:{}@h/d",
        "root:{}@h/d",
        "mysql:/root:{}@h/d",
        "mysql://root:{}",
        "mysql://root:1/{}@h/d",
        "postgres://h/d?password={}",
        "postgres://h/d?password={}&password={}",
        "postgres://h/d?sslpassword={}",
        "mysql://${NOT_SET}:{}@h/d",
        "mysql://root:${NOT_SET:-{}@h/d",
        "mysql://root:${NOT_SET:-{}}@h/d",
        "exec:show {}",
        "https://root:{}@h/mcp?key={}",
    ]
)
PLACES = st.sampled_from(
    [
        "[[sources]]\nid = 'a'\ndsn = {}",
        "[[sources]]\nid = 'a'\ndsn = {}\nmode = 'x'",
        "[[sources]]\nid = 'a'\ndsn = [{}]",
        "[[sources]]\nid = {}\ndsn = 'mysql://h/d'",
        "[[sources]]\nid = 'a'\ndsn = 'mysql://h/d'\nmode = {}",
        "[[sources]]\nid = 'a'\ndsn = 'mysql://h/d'\nmax_rows = {}",
        "[[tools]]\nname = 'a'\nsql = 'x'\nsource = {}",
        "[record]\npath = {}",
        "[record]\nkeep = {}",
        "[server]\nlisten = {}",
        "[server]\nstate_dir = {}",
        "[mcpServers.a]\nurl = {}",
        "[mcpServers.a]\ncommand = 'x'\nargs = ['--dsn', {}]",
        "[mcpServers.a]\ncommand = 'x'\nenv = {{ A = {} }}",
        "[mcpServers.a]\nurl = 'http://x/'\nheaders = {{ Authorization = {} }}",
        "[server]\ntokens = [{}]",
        "[server]\ntokens = [{}, {}, 5]",
        "{} = 1",
        "sources = {}",
        "dsn = {}",
    ]
)


def everything_said(text: str, environ: dict[str, str]) -> str:
    """Problems, views and the whole exception chain of one load."""
    try:
        loaded = load_config(environ=environ)
    except ConfigProblems as error:
        return "".join(traceback.format_exception(error)) + repr(error.problems) + error.message
    config = loaded.config
    dumps = [
        json.dumps(masked(config), ensure_ascii=False),
        json.dumps(config.shown()),
        repr(config.shown()),
    ]
    return "".join([repr(config), str(config), *dumps, repr(loaded)])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(80))
@given(password=PASSWORDS, dsn=DSNS, place=PLACES)
@example(password="QZ7/QZ7", dsn="mysql://root:1/{}@h/d", place="[[sources]]\nid = 'a'\ndsn = {}")
@example(password="QZ7@QZ7", dsn="https://root:{}@h/mcp?key={}", place="[mcpServers.a]\nurl = {}")
def test_no_password_of_a_file_is_ever_said(quiet_folder: Path, password: str, dsn: str, place: str) -> None:
    # Without "://" this is a path like any other.
    assume("://" in dsn or ("path" not in place and "state_dir" not in place))
    # JSON's string syntax is TOML's basic string for these characters.
    literal = json.dumps(dsn.replace("{}", password), ensure_ascii=False)
    text = "version = 1\n" + place.replace("{{", "{").replace("}}", "}").replace("{}", literal)
    (quiet_folder / "callgate.toml").write_text(text, "utf-8")
    assert "QZ7" not in everything_said(text, {})


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40))
@given(password=PASSWORDS, dsn=DSNS, port=st.sampled_from(["3306", "x"]))
def test_no_password_of_the_environment_is_ever_said(
    quiet_folder: Path, password: str, dsn: str, port: str
) -> None:
    environ = {
        "MYSQL_HOST": "db",
        "MYSQL_PORT": port,
        "MYSQL_PASSWORD": password,
        "DATABASE_URL": dsn.replace("{}", password),
        "PW": password,
    }
    text = 'version = 1\n[[sources]]\nid = "a"\ndsn = "postgres://me:${PW}@h/d"\n'
    (quiet_folder / "callgate.toml").write_text(text, "utf-8")
    assert "QZ7" not in everything_said(text, environ)


FILLED_PLACES = st.sampled_from(
    [
        "[[sources]]\nid = 'a'\ndsn = {}",
        "[mcpServers.a]\nurl = {}",
        "[mcpServers.a]\nurl = 'http://x/'\nheaders = { X-Thing = {} }",
        "[mcpServers.a]\ncommand = {}",
        "[mcpServers.a]\ncommand = 'x'\ncwd = {}",
        "[mcpServers.a]\ncommand = 'x'\nargs = [{}]",
        "[mcpServers.a]\ncommand = 'x'\nargs = ['-H', {}, '--x', {}]",
        "[mcpServers.a]\ncommand = 'x'\nenv = { A = {} }",
        "[server]\ntokens = [{}]",
    ]
)
FILLED_TEXTS = st.sampled_from(
    [
        "${V}",
        "${NOT_SET:-{}}",
        "${EMPTY:-{}}",
        "file:secret",
        "x${V}y${V:-z}",
        "--header=X-Thing: ${V}",
        "X-Thing:${V}",
        "https://h/${V}/mcp",
        "https://${V}@h/${NOT_SET:-{}}?a=${V}#${V}",
        "mysql://${V}:${V}@h/${V}?x=${V}",
        "mysql://u:p@h:${PORT}/${V}",
        "sqlite:///${V}.db",
        "postgres://h/d?options=${V}",
    ]
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(100))
@given(value=PASSWORDS, text=FILLED_TEXTS, place=FILLED_PLACES)
def test_nothing_that_was_filled_in_is_ever_shown(
    quiet_folder: Path, value: str, text: str, place: str
) -> None:
    assume("}" not in value)  # it would end a default
    (quiet_folder / "secret").write_text(value, "utf-8")
    literal = json.dumps(text.replace("{}", value), ensure_ascii=False)
    (quiet_folder / "callgate.toml").write_text("version = 1\n" + place.replace("{}", literal), "utf-8")
    environ = {"V": value, "EMPTY": "", "PORT": "3306"}
    assert "QZ7" not in everything_said(text, environ)


@given(password=PASSWORDS)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_a_password_put_in_by_a_variable_arrives_unchanged(quiet_folder: Path, password: str) -> None:
    text = 'version = 1\n[[sources]]\nid = "a"\ndsn = "postgres://me:${PW}@h/d"\n'
    (quiet_folder / "callgate.toml").write_text(text, "utf-8")
    (source,) = load_config(environ={"PW": password}).config.sources
    assert source.dsn.password is not None
    assert source.dsn.password.get_secret_value() == password
    assert (source.dsn.user, source.dsn.host, source.dsn.database) == ("me", "h", "d")


def test_the_marker_would_be_found(quiet_folder: Path) -> None:
    (quiet_folder / "callgate.toml").write_text("version = 1\n[policy]\ndestructive = 'QZ7'")
    with pytest.raises(ConfigProblems, match="QZ7"):
        load_config(environ={})
