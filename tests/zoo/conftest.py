"""The programs of the zoo find a Node that is new enough: the conformance suite brings one."""

import os
from collections.abc import Iterator

import pytest
from conformance.suite import install as conformance_suite
from zoo import manifest
from zoo.install import install


@pytest.fixture(scope="module")
def everything_installed() -> Iterator[None]:
    """Only what these tests use; the first time it comes from the registries, into .cache."""
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{conformance_suite().node.parent}:{before}"
    servers = manifest.servers()
    for name in ("everything", "filesystem"):
        install(name, servers[name])
    yield
    os.environ["PATH"] = before
