"""What a wheel may be installed with is what was tested: the bounds of pyproject.toml against the lock."""

import re
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
# The guard trusts their trees, their grammar and their lists of names: another minor version may read a
# statement in another way, so it is another program that nobody attacked.
READ_BY_THE_GUARD = ("sqlglot", "duckdb")


def declared() -> dict[str, Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return {canonicalize_name(one.name): one for one in map(Requirement, project["dependencies"])}


def locked() -> dict[str, Version]:
    pairs = re.findall(r"^(\S+)==([^\s;\\]+)", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
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
