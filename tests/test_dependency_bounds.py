"""What a wheel may be installed with is what was tested: the bounds of pyproject.toml against the lock."""

import json
import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

import callgate

ROOT = Path(__file__).parents[1]
# The guard trusts their trees, their grammar and their lists of names: another minor version may read a
# statement in another way, so it is another program that nobody attacked.
READ_BY_THE_GUARD = ("sqlglot", "duckdb")


def declared() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {canonicalize_name(one.name): one for one in map(Requirement, project["dependencies"])}


def locked(file: str = "requirements.lock") -> dict[str, Version]:
    pairs = re.findall(r"^(\S+)==([^\s;\\]+)", (ROOT / file).read_text(), re.MULTILINE)
    return {canonicalize_name(name): Version(version) for name, version in pairs}


@pytest.mark.parametrize("name", declared())
def test_the_version_that_was_tested_is_within_the_bounds(name: str) -> None:
    assert declared()[name].specifier.contains(locked()[name])


@pytest.mark.parametrize("name", READ_BY_THE_GUARD)
def test_what_the_guard_relies_on_is_held_to_the_minor_version_that_was_tested(name: str) -> None:
    bounds, tested = declared()[name].specifier, locked()[name]
    major, minor = tested.major, tested.minor
    assert bounds.contains(f"{major}.{minor}.999"), "a fix of the same minor version is welcome"
    outside = [f"{major}.{minor + 1}.0", f"{major}.{minor + 1}.0rc1", f"{major + 1}.0.0"]
    outside.append(f"{major}.{minor - 1}.999" if minor else f"{major - 1}.999.999")
    assert [version for version in outside if bounds.contains(version, prereleases=True)] == []


def test_what_runs_has_the_versions_that_were_tested() -> None:
    tested = locked("requirements-dev.lock")
    assert locked() == {name: tested[name] for name in locked()}


def test_running_needs_no_tool_of_the_tests() -> None:
    assert {"pytest", "mcp", "playwright", "ruff"} & locked().keys() == set()


def test_the_entry_for_the_registry_of_mcp_servers_is_of_this_version() -> None:
    entry = json.loads((ROOT / "server.json").read_text())
    (package,) = entry["packages"]
    assert {entry["version"], package["version"]} == {callgate.__version__}
    # The registry looks for this line in the README of the published package.
    assert f"mcp-name: {entry['name']} " in (ROOT / "README.md").read_text()
    assert len(entry["description"]) <= 100
