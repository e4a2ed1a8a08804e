"""The files that a container is made of say what is there, and what they start is so."""

import json
import os
import re
import shlex
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from databases.database import Database
from end_to_end.gateway_process import run_callgate, running_gateway

from callgate.config.load import load_config
from callgate.config.sources.flags import Flags

ROOT = Path(__file__).parents[2]
TOKEN = "5f0c2d9a71e84b36c2f7e1d09a4b6835"
SECRETS = {"CALLGATE_TOKEN": TOKEN, "AGENT_PASSWORD": "a-password", "POSTGRES_PASSWORD": "another"}


def instructions() -> list[tuple[str, str]]:
    """Of the Containerfile: each as one line, without comments."""
    lines = [line for line in (ROOT / "Containerfile").read_text().splitlines() if not line.startswith("#")]
    joined = "\n".join(lines).replace("\\\n", " ")
    return [(line.split()[0], " ".join(line.split()[1:])) for line in joined.splitlines() if line.strip()]


def only(name: str) -> str:
    """The last one counts."""
    return [words for instruction, words in instructions() if instruction == name][-1]


def compose() -> dict[str, Any]:
    return yaml.safe_load((ROOT / "compose.yaml").read_text())


def test_everything_that_is_copied_exists_and_is_let_into_the_builder() -> None:
    ignored = (ROOT / ".containerignore").read_text()
    assert ignored == (ROOT / ".dockerignore").read_text()
    let_in = [line.removeprefix("!") for line in ignored.splitlines() if line.startswith("!")]
    copied = [
        words.split()[:-1] for name, words in instructions() if name == "COPY" and "--from" not in words
    ]
    sources = [source for names in copied for source in names]
    assert len(sources) > 5
    assert [source for source in sources if not (ROOT / source).exists()] == []
    assert [source for source in sources if not any(fnmatch(source, one) for one in let_in)] == []


def test_what_is_taken_out_of_the_image_was_locked_only_for_the_build() -> None:
    locked = re.findall(r"^([a-z0-9-]+)==", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    build = next(words for name, words in instructions() if name == "RUN" and "uninstall" in words)
    removed = [
        word
        for part in build.split("uninstall")[1:]
        for word in part.split("&&")[0].split()
        if word[0] != "-"
    ]
    assert set(removed) <= set(locked)
    assert "pip" in removed
    needed = set(re.findall(r'^    "([a-z0-9-]+)[><=]', (ROOT / "pyproject.toml").read_text(), re.MULTILINE))
    assert needed & set(removed) == set()


async def test_it_is_nobody_special_and_starts_a_command_that_exists(tmp_path: Path) -> None:
    assert re.fullmatch(r"[1-9]\d+:[1-9]\d+", only("USER"))
    assert json.loads(only("ENTRYPOINT")) == ["callgate"]
    command, *options = json.loads(only("CMD"))
    told = (await run_callgate(tmp_path, command, "--help")).stdout
    assert [option for option in options if option.startswith("-") and option not in told] == []


async def test_the_health_check_passes_while_the_gateway_serves_and_fails_when_it_does_not(
    tmp_path: Path,
) -> None:
    check = json.loads(only("HEALTHCHECK").partition("CMD ")[2])
    assert check == compose()["services"]["callgate"]["healthcheck"]["test"][1:]
    assert check[0] == "/opt/callgate/bin/python"
    async with running_gateway(tmp_path) as gateway:
        port = gateway.announced["url"].rpartition(":")[2]
        asked = [sys.executable, *(word.replace("7420", port) for word in check[1:])]
        assert subprocess.run(asked, capture_output=True, check=False).returncode == 0
    assert subprocess.run(asked, capture_output=True, check=False).returncode != 0


@pytest.mark.parametrize("name", ["container.toml", "compose.toml"])
def test_the_configuration_of_the_image_loads_and_listens_where_the_image_says(name: str) -> None:
    config = load_config(Flags(config=ROOT / "deploy" / name), SECRETS).config
    assert only("EXPOSE") == str(config.server.listen.port) == "7420"
    assert not config.server.listen.is_loopback
    assert str(config.server.state_dir) == only("VOLUME") == "/data"
    assert [token.token.get_secret_value() for token in config.server.tokens] == [TOKEN]


def test_compose_mounts_what_is_there_and_takes_no_password_but_from_the_environment() -> None:
    services = compose()["services"]
    gateway = services["callgate"]
    assert (gateway["read_only"], gateway["cap_drop"]) == (True, ["ALL"])
    assert (ROOT / gateway["build"]["context"] / gateway["build"]["dockerfile"]).exists()
    for service in services.values():
        sources = [mount.split(":")[0] for mount in service["volumes"]]
        assert [one for one in sources if one.startswith("./") and not (ROOT / one).exists()] == []
        assert {one for one in sources if not one.startswith("./")} <= set(compose()["volumes"])
    given = {**gateway["environment"], **services["postgres"]["environment"]}
    given.pop("POSTGRES_DB")
    assert set(given) == set(SECRETS)
    for variable, value in given.items():
        assert value.startswith(f"${{{variable}:?")
    assert all(port.startswith("127.0.0.1:") for port in gateway["ports"])


def test_the_account_that_compose_makes_reads_and_cannot_write(postgres: Database) -> None:
    role, database = "deploy_agent", "deploy_shop"
    script = (ROOT / "deploy" / "postgres-init.sh").read_text().replace("agent", role)
    postgres.run(f"CREATE DATABASE {database}")
    where = {"PGHOST": postgres.host, "PGPORT": str(postgres.port), "PGPASSWORD": postgres.password}
    psql = Path(postgres.client[0]).parent
    environment = {
        **where, "POSTGRES_USER": postgres.user, "POSTGRES_DB": database, "AGENT_PASSWORD": "it's a password",
        "PATH": f"{psql}:{os.environ['PATH']}",
    }  # fmt: skip
    subprocess.run(["sh", "-c", script], env=environment, check=True, capture_output=True)
    try:
        as_agent = f"SET ROLE {role}; "
        assert postgres.run(f"{as_agent}SELECT count(*) FROM orders", database=database) == "3"
        for harm in ("DELETE FROM orders", "CREATE TABLE mine (a int)", "CREATE TEMP TABLE mine (a int)"):
            with pytest.raises(AssertionError, match="permission denied"):
                postgres.run(as_agent + harm, database=database)
    finally:
        postgres.run(f"DROP DATABASE {database}")
        postgres.run(f"DROP ROLE {role}")


def test_the_command_that_makes_the_secrets_is_one() -> None:
    """In the head of compose.yaml."""
    line = next(line for line in (ROOT / "compose.yaml").read_text().splitlines() if "printf" in line)
    assert [word for word in SECRETS if word not in line] == []
    assert shlex.split(line.removeprefix("#").rpartition(">")[0])[0] == "printf"
