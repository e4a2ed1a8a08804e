"""`secret:name`, `${secret:name}` and `exec:command` in the file."""

import json
from pathlib import Path

import pytest

from callgate.app.setup.loading import load_config, secrets_at
from callgate.config.load import ConfigProblems, Loaded
from callgate.config.show import masked
from callgate.config.sources.flags import Flags
from callgate.model.error_codes import SETUP_CONFIG, SETUP_SECRET
from callgate.vault.secrets import BY_STATE_KEY

SERVER = '[mcpServers.a]\nurl = "http://127.0.0.1:9/mcp"\n'


def keep(folder: Path, name: str, value: str) -> None:
    (folder / "state").mkdir(mode=0o700, exist_ok=True)
    secrets_at(Flags(config=write(folder, "")))[0].set(name, value, BY_STATE_KEY)


def write(folder: Path, text: str) -> Path:
    path = folder / "callgate.toml"
    path.write_text(f'version = 1\nserver.state_dir = "state"\n{text}')
    return path


def load(folder: Path, text: str) -> Loaded:
    return load_config(Flags(config=write(folder, text)), {"WORD": "two words; rm -rf"})


def problem_of(folder: Path, text: str) -> ConfigProblems:
    with pytest.raises(ConfigProblems) as caught:
        load(folder, text)
    return caught.value


def test_a_kept_secret_is_used_wherever_one_may_stand(tmp_path: Path) -> None:
    keep(tmp_path, "shop", "p@ss/word?")
    keep(tmp_path, "token", "kJ8s0dLq2mZx7vB4nT1yWc6rHf3gPa9e")
    config = load(
        tmp_path,
        '[[sources]]\nid = "shop"\ndsn = "postgres://me:${secret:shop}@db/shop"\n'
        f'{SERVER}headers = {{ Authorization = "Bearer ${{secret:shop}}", X-Key = "secret:shop" }}\n'
        '[principals.ci]\ntoken = "secret:token"\n',
    ).config
    assert config.principals["ci"].token is not None
    assert config.sources[0].dsn.password is not None
    assert config.sources[0].dsn.password.get_secret_value() == "p@ss/word?"
    headers = config.mcp_servers["a"].headers
    assert headers["Authorization"].get_secret_value() == "Bearer p@ss/word?"
    assert headers["X-Key"].get_secret_value() == "p@ss/word?"
    shown = json.dumps(masked(config))
    assert "p@ss" not in shown
    assert "p%40ss" not in shown


def test_a_secret_that_is_not_kept_is_named_with_what_to_do(tmp_path: Path) -> None:
    keep(tmp_path, "shop", "x")
    error = problem_of(tmp_path, '[[sources]]\nid = "a"\ndsn = "secret:shopp"\n')
    assert error.code is SETUP_SECRET
    assert 'sources[0].dsn: there is no secret "shopp"' in error.message
    assert "callgate secret set shopp" in error.message


def test_beside_another_problem_it_is_a_problem_of_the_configuration(tmp_path: Path) -> None:
    error = problem_of(tmp_path, f'{SERVER}headers = {{ A = "secret:none" }}\n[record]\nkeep = "x"\n')
    assert error.code is SETUP_CONFIG
    assert len(error.problems) == 2


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[mcpServers.a]\ncommand = "x"\nargs = ["--token", "${secret:shop}"]\n', "cannot stand here"),
        ('[mcpServers.a]\nurl = "http://h/${secret:shop}/mcp"\n', "cannot stand here"),
        ('[server]\nstate_key = "secret:shop"\n', "sealed with this key"),
        (f'{SERVER}headers = {{ A = "secret:" }}\n', "not the name of a secret"),
        (f'{SERVER}headers = {{ A = "secret:../QZ7" }}\n', "not the name of a secret"),
        (f'{SERVER}headers = {{ A = "exec:" }}\n', "not a command line"),
        (f"{SERVER}headers = {{ A = 'exec:\"QZ7' }}\n", "not a command line"),
        (f'{SERVER}headers = {{ A = "exec:/no/such/program QZ7" }}\n', "could not be started"),
        (f"{SERVER}headers = {{ A = 'exec:sh -c \"echo QZ7 >&2; exit 3\"' }}\n", "did not print one line"),
        (f"{SERVER}headers = {{ A = 'exec:sh -c \"echo QZ7; exit 3\"' }}\n", "exit code 3"),
        (f"{SERVER}headers = {{ A = 'exec:yes QZ7' }}\n", "did not print one line"),
    ],
)
def test_what_cannot_be_a_secret_is_told_and_not_repeated(tmp_path: Path, text: str, told: str) -> None:
    keep(tmp_path, "shop", "x-QZ7")
    (tmp_path / "callgate.toml").write_text(f"version = 1\n{text}")
    with pytest.raises(ConfigProblems) as caught:
        load_config(Flags(config=tmp_path / "callgate.toml", state_dir=tmp_path / "state"), {})
    assert told in caught.value.message
    assert "QZ7" not in caught.value.message


def test_what_a_program_prints_is_a_secret_and_no_shell_reads_its_words(tmp_path: Path) -> None:
    config = load(tmp_path, f"{SERVER}headers = {{ A = 'exec:printf %s|%s $(id) \"${{WORD}}\"' }}\n").config
    assert config.mcp_servers["a"].headers["A"].get_secret_value() == "$(id)|two words; rm -rf"
    assert "rm -rf" not in json.dumps(masked(config))


def test_a_program_is_started_once_however_often_it_is_named(tmp_path: Path) -> None:
    program = tmp_path / "count"
    program.write_text('#!/bin/sh\necho x >> "$0.log"\necho value\n')
    program.chmod(0o700)
    load(tmp_path, f'{SERVER}headers = {{ A = "exec:{program}", B = "exec:{program}" }}\n')
    assert (tmp_path / "count.log").read_text() == "x\n"


def test_another_clients_file_starts_no_program_and_names_no_secret(tmp_path: Path) -> None:
    keep(tmp_path, "shop", "x")
    path = tmp_path / "mcp.json"
    path.write_text(
        '{"mcpServers": {"a": {"url": "http://h/mcp", "headers": {"A": "exec:touch x", "B": "secret:shop"}}}}'
    )
    config = load_config(Flags(config=path, state_dir=tmp_path / "state"), {}).config
    assert config.mcp_servers["a"].headers["A"].get_secret_value() == "exec:touch x"
    assert config.mcp_servers["a"].headers["B"].get_secret_value() == "secret:shop"


def test_a_variable_that_holds_such_words_is_only_text(tmp_path: Path) -> None:
    path = write(tmp_path, f'{SERVER}headers = {{ A = "${{X}}" }}\n')
    config = load_config(Flags(config=path), {"X": "exec:touch ran"}).config
    assert config.mcp_servers["a"].headers["A"].get_secret_value() == "exec:touch ran"
