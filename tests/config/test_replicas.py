"""`[replicas]`: what several gateways need in common is asked for at once, with what to write."""

from pathlib import Path

import pytest

from callgate.app.setup import setup_problems
from callgate.config.load import ConfigProblems, Flags, Loaded, load_config
from callgate.config.problems import cross_check

KEY = "8d41f0c7b29e6a35d07c1f84be52a963"


def load(tmp_path: Path, text: str, **environ: str) -> Loaded:
    file = tmp_path / "callgate.toml"
    file.write_text(f"version = 1\n{text}")
    return load_config(Flags(config=file), environ)


def problems(tmp_path: Path, text: str, **environ: str) -> dict[str, str]:
    with pytest.raises(ConfigProblems) as caught:
        load(tmp_path, text, **environ)
    return {problem.key_path: f"{problem.message} {problem.hint}" for problem in caught.value.problems}


GOOD = f"""
[server]
state_key = "{KEY}"
[record]
store = "postgres"
[replicas]
database = "postgres://me:hidden@db/callgate"
"""


def test_the_store_postgres_is_the_database_of_the_replicas(tmp_path: Path) -> None:
    config = load(tmp_path, GOOD).config
    assert config.replicas.is_on
    assert config.store.dsn == "postgresql://me:hidden@db:5432/callgate"
    assert str(config.replicas.listen) == "0.0.0.0:7421"
    assert "hidden" not in repr(config) + str(config.shown())


def test_one_process_has_no_replicas(tmp_path: Path) -> None:
    config = load(tmp_path, "").config
    assert not config.replicas.is_on
    assert not config.store.is_postgres


def test_everything_that_replicas_lack_is_told_at_once(tmp_path: Path) -> None:
    text = '[replicas]\ndatabse = "postgres://me@db/x"\nlisten = "here"\npeers = "of"\nadvertise = "a b"\n'
    found = problems(tmp_path, text)
    assert "database" in found["replicas.databse"]
    assert set(found) == {
        "replicas.databse", "replicas.database", "replicas.listen", "replicas.peers", "replicas.advertise",
        "server.state_key", "record.store",
    }  # fmt: skip
    assert 'store = "postgres"' in found["record.store"]
    assert "state_key =" in found["server.state_key"]


def test_a_store_of_replicas_that_are_not_there_says_what_to_write(tmp_path: Path) -> None:
    found = problems(tmp_path, '[record]\nstore = "postgres"\n')
    assert "postgres://user" in found["record.store"]


def test_without_a_record_replicas_need_no_store(tmp_path: Path) -> None:
    text = GOOD.replace('store = "postgres"', "enabled = false")
    assert load(tmp_path, text).config.replicas.is_on


@pytest.mark.parametrize("written", ["10.0.3.7", "10.0.3.7:7421", "[fd00::7]:7421", "fd00::7", "replica-1"])
def test_a_replica_may_say_how_it_is_reached(tmp_path: Path, written: str) -> None:
    assert load(tmp_path, f'{GOOD}advertise = "{written}"\n').config.replicas.advertise == written


@pytest.mark.parametrize("written", ["http://a", "a/b", "a:b", "a b", ""])
def test_what_is_no_host_is_refused(tmp_path: Path, written: str) -> None:
    assert "replicas.advertise" in problems(tmp_path, f'{GOOD}advertise = "{written}"\n')


def test_variables_configure_replicas_too(tmp_path: Path) -> None:
    environ = {
        "CALLGATE_SERVER_STATE_KEY": KEY,
        "CALLGATE_RECORD_STORE": "postgres",
        "CALLGATE_REPLICAS_DATABASE": "postgres://me@db/callgate",
    }
    assert load(tmp_path, "", **environ).config.store.shown == "db:5432/callgate"


def test_without_key_extra_and_database_store_all_of_it_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cross_check, "find_spec", find_nothing)
    text = '[record]\nstore = "duckdb"\n[replicas]\ndatabase = "postgres://me:hidden@db/x"\nadvertize = "a"\n'
    found = problems(tmp_path, text)
    assert set(found) == {"replicas", "replicas.advertize", "server.state_key", "record.store"}
    assert "pip install '.[postgres]'" in found["replicas"]
    assert "advertise" in found["replicas.advertize"]  # did you mean
    assert "hidden" not in str(found)


def test_the_missing_extra_is_named_for_a_record_in_postgresql(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = load(tmp_path, '[record]\nstore = "postgres://me@db/x"\n').config
    monkeypatch.setattr(setup_problems, "find_spec", find_nothing)
    found = {problem.key_path: problem.hint for problem in setup_problems.setup_problems(config)}
    assert found == {"record.store": "pip install '.[postgres]' in the folder with the sources"}


def find_nothing(name: str) -> None:
    return None


def test_what_is_lost_without_peers_is_said(tmp_path: Path) -> None:
    (warning,) = load(tmp_path, f'{GOOD}peers = "off"\n').warnings
    assert "handshake clients get no session" in warning.message
    assert load(tmp_path, GOOD).warnings == ()


def test_workers_are_written_as_a_number_or_auto_and_do_not_go_with_replicas(tmp_path: Path) -> None:
    assert load(tmp_path, "").config.server.workers == 1
    assert load(tmp_path, '[server]\nworkers = "auto"').config.server.workers >= 1
    file = tmp_path / "callgate.toml"
    assert (
        load_config(Flags(config=file, workers="3"), {"CALLGATE_SERVER_WORKERS": "2"}).config.server.workers
        == 3
    )
    assert load_config(Flags(config=file), {"CALLGATE_SERVER_WORKERS": "2"}).config.server.workers == 2
    with pytest.raises(ConfigProblems, match="--workers: this is not a number of worker processes"):
        load_config(Flags(config=file, workers="0"), {})
    both = load(tmp_path, GOOD.replace("[server]", "[server]\nworkers = 2")).config
    assert "server.workers" in [problem.key_path for problem in setup_problems.setup_problems(both)]
