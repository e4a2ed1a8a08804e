"""One start of a confined program: what is run instead of it, and in which environment.

Owns the folder that a server has for itself: `<state>/sandbox/<server>/` with `home`, `cache` and `tmp`.
"""

import base64
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from callgate.model.error_codes import SETUP_SANDBOX
from callgate.model.errors import ServerSetupError
from callgate.sandbox import become
from callgate.sandbox.kernel import KernelAbilities, kernel_abilities
from callgate.sandbox.reach import Guarded, OutOfReachError, Wishes, grants_of, ruleset_attributes
from callgate.sandbox.syscall_filter import filter_program
from callgate.sandbox.syscall_numbers import MACHINES

_HINT: Final = (
    "Remove `sandbox` from the entry to run it unconfined; `callgate doctor` says what is possible here."
)
_OF_OUR_INTERPRETER: Final = ("LD_LIBRARY_PATH",)  # some are built so that they need it to start


@dataclass(frozen=True, slots=True)
class Sandbox:
    """`sandbox` of a server, and what it is to be kept from."""

    own: Path  # <state>/sandbox/<server>
    guarded: Guarded
    reads: tuple[Path, ...] = ()  # relative ones: to the folder in which it starts
    writes: tuple[Path, ...] = ()
    network: bool = True

    def environment(self, base: Mapping[str, str], written: Mapping[str, str]) -> dict[str, str]:
        """`written`, by the operator, wins. Nothing of ours names a place that it cannot reach."""
        kept = {name: value for name, value in base.items() if not name.startswith("XDG_")}
        cache = str(self.own / "cache")
        places = {
            "HOME": str(self.own / "home"),
            "TMPDIR": str(self.own / "tmp"),
            "XDG_CACHE_HOME": cache,
            "npm_config_cache": f"{cache}/npm",
            "UV_CACHE_DIR": f"{cache}/uv",
        }
        if not self.network:  # what was fetched before is used, and what is missing is said at once
            places |= {"npm_config_offline": "true", "UV_OFFLINE": "1"}
        return kept | places | dict(written)

    @property
    def home(self) -> Path:
        return self.own / "home"


def confined_start(
    name: str, sandbox: Sandbox, argv: list[str], environment: Mapping[str, str], cwd: Path | None
) -> tuple[list[str], dict[str, str]]:
    """What is to be run, and with which variables.

    Raises `ServerSetupError`, and FileNotFoundError when there is no such program.
    """
    abilities = kernel_abilities()
    if abilities.obstacle:
        raise _refused(name, abilities.obstacle)
    _make_own(name, sandbox)
    folder = cwd or sandbox.home
    found = shutil.which(
        str(folder / argv[0]) if os.sep in argv[0] else argv[0], path=environment.get("PATH")
    )
    if found is None:
        raise FileNotFoundError(argv[0])
    wishes = Wishes(
        Path(found),
        tuple(argv[1:]),
        folder,
        cwd is not None,
        sandbox.own,
        tuple(_absolute(path, folder) for path in sandbox.reads),
        tuple(_absolute(path, folder) for path in sandbox.writes),
    )
    try:
        grants = grants_of(wishes, sandbox.guarded, environment.get("PATH"))
    except OutOfReachError as problem:
        raise _refused(
            name, str(problem), "Name folders that hold nothing of Callgate's, and not the home."
        ) from problem
    plan = _plan(abilities, sandbox.network, grants)
    variables = {f"{become.VARIABLE}{key}": value for key, value in environment.items()}
    libraries = {key: os.environ[key] for key in _OF_OUR_INTERPRETER if key in os.environ}
    return [sys.executable, "-I", "-S", become.__file__, plan, found, *argv[1:]], variables | libraries


def failure_of(name: str, returncode: int | None, stderr_tail: list[str]) -> ServerSetupError | None:
    """Of a process that ended: it could not be confined, and its program did not run."""
    if returncode != become.FAILED or not stderr_tail or not stderr_tail[-1].startswith(become.SIGN):
        return None
    return _refused(name, stderr_tail[-1].removeprefix(become.SIGN))


def _plan(abilities: KernelAbilities, network: bool, grants: list[tuple[str, int]]) -> str:
    machine = MACHINES[abilities.machine]
    ruleset = ruleset_attributes(abilities.landlock, network=network)
    return json.dumps(
        {
            "ruleset": base64.b64encode(ruleset).decode(),
            "grants": grants,
            "filter": base64.b64encode(filter_program(abilities.machine, network=network)).decode(),
            "seccomp": machine.seccomp,
            "capset": machine.capset,
        }
    )


def _make_own(name: str, sandbox: Sandbox) -> None:
    try:
        for folder in ("home", "cache", "tmp"):
            path = sandbox.own / folder
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
            if path.resolve() != sandbox.own.resolve() / folder:
                raise _refused(name, f"{path} is a link")
    except OSError as problem:
        raise _refused(name, f"its folder {sandbox.own} cannot be made: {problem.strerror}") from problem


def _absolute(path: Path, folder: Path) -> Path:
    return Path(os.path.normpath(folder / path))


def _refused(name: str, why: str, hint: str = _HINT) -> ServerSetupError:
    return ServerSetupError(SETUP_SANDBOX, f"{name} is not started without its sandbox: {why}", hint=hint)
