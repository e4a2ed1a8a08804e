"""A config file in a folder of its own; the environment is what the test says and nothing else."""

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

import pytest

from callgate.config.load import ConfigProblem, ConfigProblems, Flags, Loaded, load_config


class LoadText(Protocol):
    def __call__(
        self, text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None
    ) -> Loaded: ...


class ProblemsOf(Protocol):
    def __call__(
        self, text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None
    ) -> tuple[ConfigProblem, ...]: ...


@pytest.fixture(autouse=True)
def quiet_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg_config"))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "xdg_state"))
    return tmp_path


@pytest.fixture
def load_text(tmp_path: Path) -> LoadText:
    def load(text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None) -> Loaded:
        (tmp_path / "callgate.toml").write_text(f"version = 1\n{text}", "utf-8")
        return load_config(flags, environ or {})

    return load


@pytest.fixture
def problems_of(load_text: LoadText) -> ProblemsOf:
    def problems(
        text: str, environ: Mapping[str, str] | None = None, flags: Flags | None = None
    ) -> tuple[ConfigProblem, ...]:
        with pytest.raises(ConfigProblems) as caught:
            load_text(text, environ, flags)
        return caught.value.problems

    return problems
