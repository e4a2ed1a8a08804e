"""Every mistake is reported, once, at its place, with what to write instead."""

from pathlib import Path

import pytest
from config.conftest import LoadText, ProblemsOf

from callgate.config.load import ConfigProblem, ConfigProblems, Flags, load_config
from callgate.model.error_codes import SETUP_CONFIG

SOURCE = '[[sources]]\nid = "shop"\ndsn = "mysql://db/shop"\n'
TOOL = '[[tools]]\nname = "t"\nsource = "shop"\nsql = "SELECT 1"\n'
SERVER = '[mcpServers.a]\nurl = "http://x/"\n'


def test_a_near_miss_is_told_what_was_meant(problems_of: ProblemsOf) -> None:
    assert problems_of(SOURCE + 'mode = "readonly"') == (
        ConfigProblem(
            "sources[0].mode", '"readonly" is not one of read_only, write', 'Did you mean "read_only"?'
        ),
    )


@pytest.mark.parametrize(
    ("text", "path", "words"),
    [
        ("sourcs = []", "sourcs", "sources"),
        ("mcp_server = {}", "mcp_server", "mcpServers"),
        ("sources = 5", "sources", "list of tables"),
        ("[sources]\nid = 'a'", "sources", "[[sources]]"),
        ("sources = [5]", "sources[0]", "table"),
        ("server = 5", "server", "table"),
        ("mcpServers = 5", "mcpServers", "table"),
        ("mcpServers.a = 5", "mcpServers.a", "table"),
        ("[server]\nlistn = 'x'", "server.listn", '"listen"'),
        ("[record]\noffer = true\nenabled = false", "record.offer", "nothing to offer"),
        (
            "[record]\noffer = true\n[mcpServers.record]\nurl = 'http://x/'",
            "mcpServers.record",
            "offered under",
        ),
        (
            "[record]\noffer = true\n[[sources]]\nid = 'record'\ndsn = 'sqlite:///x'",
            "sources[0].id",
            "Rename",
        ),
        ("[otel]\nendpoint = 'localhost:4318'", "otel.endpoint", "http://"),
        ("[otel]\nendpoint = 'http://me:hunter2@x:4318'", "otel.endpoint", "otel.headers"),
        ("[otel]\nendpoint = 'http://x/?key=hunter2'", "otel.endpoint", "otel.headers"),
        ("[otel]\nendpoint = 'http://x:4318/v1/traces'", "otel.endpoint", "Leave out /v1/traces"),
        ("[otel]\nsample_ratio = 2.0", "otel.sample_ratio", "at most 1"),
        ("[otel]\nheaders = 5", "otel.headers", "table"),
        ("[server]\nworkers = 0", "server.workers", "from 1 to 256"),
        ("[server]\nworkers = true", "server.workers", '"auto"'),
        ("[server]\nworkers = 'many'", "server.workers", '"auto"'),
        ("[server]\nlisten = '7420'", "server.listen", "host and port"),
        ("[server]\nlisten = 7420", "server.listen", "host and port"),
        ("[server]\nmax_body = '0'", "server.max_body", "at least 1"),
        ("[server]\nmax_body = 'big'", "server.max_body", '"big" is not a size'),
        ("[server]\nmax_body = true", "server.max_body", "not a size"),
        ("[server]\naudit_stderr = 'perhaps'", "server.audit_stderr", "true or false"),
        ("[server]\nallowed_hosts = 'x'", "server.allowed_hosts", "list"),
        ("[server]\nallowed_hosts = [5]", "server.allowed_hosts[0]", "string"),
        ("[server]\nstate_dir = 5", "server.state_dir", "path"),
        ("[server]\nstate_dir = ''", "server.state_dir", "path"),
        ("[server]\ntokens = 'x'", "server.tokens", "list"),
        ("[server]\ntokens = [5]", "server.tokens[0]", "token"),
        ("[server]\ntokens = ['hunter2']", "server.tokens[0]", "shorter than 16"),
        ("[server]\ntokens = ['hunter2 hunter2 hunter2']", "server.tokens[0]", "spaces"),
        ("[server]\ntokens = [{ token = 'hunter2' }]", "server.tokens[0].token", "shorter than 16"),
        ("[server]\ntokens = ['aaaaaaaaaaaaaaaa']", "server.tokens[0]", "easy to guess"),
        ("[server]\ntokens = ['passwordpassword']", "server.tokens[0]", "secrets.token_urlsafe"),
        ("[server]\ntokens = ['1234567890123456']", "server.tokens[0]", "easy to guess"),
        ("[server]\ntokens = ['abcdefghijklmnop']", "server.tokens[0]", "easy to guess"),
        ("[server]\ntokens = ['1111222233334444']", "server.tokens[0]", "easy to guess"),
        ("[server]\nstate_key = 'xxxxxxxxxxxxxxxxxxxx'", "server.state_key", "easy to guess"),
        ("[server]\ntokens = [{ principal = 'x' }]", "server.tokens[0].token", "missing"),
        (
            "[server]\ntokens = [{ token = '9f3c27d1a8e64b05', who = 'x' }]",
            "server.tokens[0].who",
            "token, principal",
        ),
        (
            "[server]\ntokens = ['hunter2-walks-the-moor', 'hunter2-walks-the-moor']",
            "server.tokens[1]",
            "server.tokens[0]",
        ),
        ("[server]\nlisten = '0.0.0.0:1'", "server.tokens", "at least one token"),
        ("[server]\nlisten = '[::]:1'\ntokens = []", "server.tokens", "at least one token"),
        ("[[sources]]\ndsn = 'mysql://db/shop'", "sources[0].id", "missing"),
        ("[[sources]]\nid = 'a'", "sources[0].dsn", "missing"),
        ("[[sources]]\nid = 'A'\ndsn = 'mysql://db/shop'", "sources[0].id", '"A" cannot be a name'),
        ("[[sources]]\nid = 'a__b'\ndsn = 'mysql://db/shop'", "sources[0].id", "__"),
        ('[[sources]]\nid = "a\\n"\ndsn = "mysql://db/shop"', "sources[0].id", "the value cannot be a name"),
        ("[[sources]]\nid = 'a'\ndsn = 'mysq://u:hunter2@h/d'", "sources[0].dsn", '"mysql"'),
        ("[[sources]]\nid = 'a'\ndsn = 5", "sources[0].dsn", "string"),
        ("[[sources]]\nid = 'a'\ndsn = 'sqlite:///x.db?shcema=x'", "sources[0].dsn", '"schema"'),
        ("[[sources]]\nid = 'a'\ndsn = 'sqlite:///x.db?schema=main'", "sources[0].dsn", "main"),
        ("[[sources]]\nid = 'a'\ndsn = 'sqlite:///:memory:'", "sources[0].dsn", "always empty"),
        (SOURCE + SOURCE, "sources[1].id", "sources[0].id"),
        (SOURCE + "max_rows = 0", "sources[0].max_rows", "at least 1"),
        (SOURCE + "max_rows = true", "sources[0].max_rows", "number"),
        (SOURCE + "max_rows = 'many'", "sources[0].max_rows", "whole number"),
        (SOURCE + "max_rows = 1.5", "sources[0].max_rows", "whole number"),
        (SOURCE + "timeout_s = 0", "sources[0].timeout_s", "more than 0"),
        (SOURCE + "timeout_s = inf", "sources[0].timeout_s", "at most 86400"),
        (SOURCE + "timeout_s = nan", "sources[0].timeout_s", ""),
        (SOURCE + "from_environment = true", "sources[0].from_environment", "no such key"),
        (SOURCE + TOOL.replace("shop", "shpo"), "tools[0].source", 'Did you mean "shop"?'),
        (TOOL, "tools[0].source", "There are no sources."),
        (SOURCE + TOOL + TOOL, "tools[1].name", "tools[0]"),
        (SOURCE + TOOL.replace('"t"', '"t x"'), "tools[0].name", "cannot be a tool's name"),
        (SOURCE + TOOL.replace("SELECT 1", ""), "tools[0].sql", "empty"),
        (SOURCE + TOOL + "params.a = { type = 'int' }", "tools[0].params.a.type", '"integer"'),
        (SOURCE + TOOL + "params.a = { typ = 'integer' }", "tools[0].params.a.typ", '"type"'),
        (SOURCE + TOOL + "params.a-b = { type = 'integer' }", "tools[0].params.a-b", "parameter's name"),
        (SOURCE + TOOL + "params.a = 5", "tools[0].params.a", "table"),
        (
            SOURCE + TOOL + "params.a = { type = 'integer', default = 'x' }",
            "tools[0].params.a.default",
            "integer",
        ),
        (
            SOURCE + TOOL + "params.a = { type = 'integer', default = true }",
            "tools[0].params.a.default",
            "integer",
        ),
        (
            SOURCE + TOOL + "params.a = { type = 'string', default = [] }",
            "tools[0].params.a.default",
            "string",
        ),
        (
            SOURCE + TOOL + "params.a = { type = 'integer', default = 1, required = true }",
            "tools[0].params.a.required",
            "default",
        ),
        ("[mcpServers.a]", "mcpServers.a", "url or command is missing"),
        ("[mcpServers.a]\nurll = 'http://x/'", "mcpServers.a.urll", '"url"'),
        (SERVER + "command = 'x'", "mcpServers.a", "cannot be used together"),
        (SERVER + "env = { A = 'b' }", "mcpServers.a.env", "cannot be used with url"),
        (
            "[mcpServers.a]\ncommand = 'x'\nheaders = { A = 'b' }",
            "mcpServers.a.headers",
            "cannot be used with command",
        ),
        ("[mcpServers.a]\ncommand = 'x'\ntype = 'http'", "mcpServers.a.type", "stdio"),
        ("[mcpServers.a]\ncommand = ''", "mcpServers.a.command", "empty"),
        (SERVER + "type = 'stdio'", "mcpServers.a.type", "HTTP"),
        (SERVER + "type = 'sse'\ntransport = 'http'", "mcpServers.a.transport", "disagree"),
        (SERVER + "type = 'htpp'", "mcpServers.a.type", '"http"'),
        (SERVER + "headers = { A = 5 }", "mcpServers.a.headers.A", "string"),
        (SERVER + "headers = 5", "mcpServers.a.headers", "table"),
        (SERVER + "timeouts = 5", "mcpServers.a.timeouts", '"timeout_s"'),
        ("[mcpServers.a]\nurl = 'ftp://u:hunter2@h'", "mcpServers.a.url", "http://"),
        (SOURCE + SERVER.replace(".a]", ".shop]"), "mcpServers.shop", "sources[0].id"),
        ("[record]\nkeep = 30", "record.keep", "not a duration"),
        ("[record]\nkeep = '30'", "record.keep", '"30" is not a duration'),
        ("[record]\nkeep = '0s'", "record.keep", "more than 0"),
        ("[record]\npath = 'postgres://u:hunter2@h/d'", "record.path", "not an address"),
        ("[record]\nredact_patterns = ['(']", "record.redact_patterns[0]", "regular expression"),
        ("[policy]\ndestructive = 'ask'", "policy.destructive", "not supported yet"),
        ("[policy]\ndestructive = 'denied'", "policy.destructive", '"deny"'),
        ("[policy]\ndestructive = 'mysql://u:hunter2@h'", "policy.destructive", "the value is not one of"),
    ],
)
def test_one_mistake_is_one_problem_at_its_place(
    problems_of: ProblemsOf, text: str, path: str, words: str
) -> None:
    problems = problems_of(text)
    assert [problem.key_path for problem in problems] == [path]
    assert words in problems[0].message + " " + problems[0].hint
    assert "hunter2" not in str(problems[0])
    assert "this is not valid" not in problems[0].message


def test_three_different_mistakes_are_exactly_three_problems(problems_of: ProblemsOf) -> None:
    text = (
        SOURCE.replace("mysql://db", "mysql://u:${NOT_SET}@db")
        + 'mode = "readonly"\n'
        + TOOL.replace("shop", "x")
    )
    assert [problem.key_path for problem in problems_of(text)] == [
        "sources[0].dsn",
        "sources[0].mode",
        "tools[0].source",
    ]


def test_mistakes_in_one_table_do_not_hide_one_another(problems_of: ProblemsOf) -> None:
    text = """
[server]
listen = "0.0.0.0:1"
max_body = "x"
[mcpServers.a]
isolation = "none"
[[sources]]
id = "b"
dsn = "mysql://u:p@h:port/d"
tiemout_s = 1
max_rows = -1
"""
    environ = {"CALLGATE_RECORD_KEEP": "soon", "MYSQL_HOST": "h", "MYSQL_PORT": "x"}
    paths = [problem.key_path for problem in problems_of(text, environ, Flags(port=99999))]
    assert sorted(paths) == [
        "--port",
        "CALLGATE_RECORD_KEEP",
        "MYSQL_PORT",
        "mcpServers.a",
        "mcpServers.a.isolation",
        "server.max_body",
        "server.tokens",
        "sources[0].dsn",
        "sources[0].max_rows",
        "sources[0].tiemout_s",
    ]


@pytest.mark.parametrize("text", ["", 'version = "1"', "version = 2", "version = true", "version = 1.0"])
def test_a_file_must_say_its_version(tmp_path: Path, text: str) -> None:
    (tmp_path / "callgate.toml").write_text(text)
    with pytest.raises(ConfigProblems) as caught:
        load_config(environ={})
    assert [problem.key_path for problem in caught.value.problems] == ["version"]


def test_a_syntax_error_is_named_with_line_and_column(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text("version = 1\n[[sources]]\ndsn = mysql://u:hunter2@h/d\n")
    with pytest.raises(ConfigProblems) as caught:
        load_config(environ={})
    (problem,) = caught.value.problems
    assert (problem.key_path, problem.message) == ("callgate.toml", "line 3, column 7: invalid value")
    assert caught.value.__context__ is None


def test_a_syntax_error_at_the_end_is_named_too(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_text('version = 1\nx = "')
    with pytest.raises(ConfigProblems, match="end of the file"):
        load_config(environ={})


def test_a_file_that_is_not_text_is_a_problem(tmp_path: Path) -> None:
    (tmp_path / "callgate.toml").write_bytes(b"\xff")
    with pytest.raises(ConfigProblems, match="UTF-8"):
        load_config(environ={})


def test_a_bad_variable_or_flag_is_named_instead_of_the_key(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of("", {"CALLGATE_POLICY_DESTRUCTIVE": "alow"})
    assert problem == ConfigProblem(
        "CALLGATE_POLICY_DESTRUCTIVE", '"alow" is not one of allow, deny', 'Did you mean "allow"?'
    )
    (problem,) = problems_of("", flags=Flags(host="a b"))
    assert problem.key_path == "--host"


def test_a_host_flag_beyond_this_machine_needs_a_token_as_well(
    problems_of: ProblemsOf, load_text: LoadText
) -> None:
    (problem,) = problems_of("", flags=Flags(host="0.0.0.0"))
    assert problem.key_path == "server.tokens"
    loaded = load_text("[server]\ntokens = ['9f3c27d1a8e64b05']", flags=Flags(host="::", port=1))
    assert str(loaded.config.server.listen) == "[::]:1"


def test_a_value_that_was_filled_in_is_not_repeated(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(SOURCE + 'mode = "${MODE}"', {"MODE": "hunter2"})
    assert problem.message == "the value is not one of read_only, write"


@pytest.mark.parametrize(
    "text",
    [
        '[record]\nkeep = "${PLANTED}"',
        '[record]\nmax_size = "${PLANTED}"',
        '[server]\ndrain = "${PLANTED}"',
        '[principals.a]\nexpires = "${PLANTED}"',
        SOURCE + '[[tools]]\nname = "${PLANTED}"\nsource = "shop"\nsql = "SELECT 1"',
        '[server]\nlisten = "${PLANTED}"',
        '[otel]\nendpoint = "${PLANTED}"',
    ],
)
def test_no_rule_of_a_key_repeats_what_was_filled_in(text: str, problems_of: ProblemsOf) -> None:
    """Whoever may write the file must not read the gateway's variables by its errors."""
    told = str(problems_of(text, {"PLANTED": "hunter2 hunter2"}))
    assert "hunter2" not in told


def test_what_follows_from_a_reported_mistake_is_not_reported_again(problems_of: ProblemsOf) -> None:
    text = (
        '[server]\nlisten = "${L}"\ntokens = ["${T}", "${T}"]\n'
        + SOURCE.replace('"shop"', '"${ID}"', 1)
        + TOOL
    )
    assert [problem.message for problem in problems_of(text)] == [
        "the variable L is not set",
        "the variable T is not set",
        "the variable T is not set",
        "the variable ID is not set",
    ]


def test_the_report_carries_the_code_the_file_and_every_problem(
    tmp_path: Path, problems_of: ProblemsOf
) -> None:
    problems_of("a = 1\nb = 2")
    with pytest.raises(ConfigProblems) as caught:
        load_config(environ={})
    error = caught.value
    assert (error.code, error.origin) == (SETUP_CONFIG, tmp_path / "callgate.toml")
    assert error.message.startswith(
        f"2 problems in {tmp_path / 'callgate.toml'}:\n  a: there is no such key."
    )


def test_connections_of_all_replicas_are_for_servers(problems_of: ProblemsOf) -> None:
    (problem,) = problems_of('[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\nmax_connections = 9')
    assert "max_connections is for database servers" in problem.message


@pytest.mark.parametrize(
    ("dsn", "told"),
    [("mysql://me:pw@db/shop", "Keep one of the two"), ("sqlite:///shop.db", "for database servers")],
)
def test_a_password_command_has_no_rival(dsn: str, told: str, problems_of: ProblemsOf) -> None:
    (problem,) = problems_of(f'[[sources]]\nid = "shop"\ndsn = "{dsn}"\npassword_command = ["print-it"]')
    assert told in str(problem)
