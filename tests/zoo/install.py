"""Each package of the zoo in a folder of its own below .cache/zoo, made once for each state of its entry.

From npm and PyPI (and, where their tools are at hand, Go modules and crates) by name and version. What those
packages depend on is taken as it was on `AS_OF`, so that a later run installs the same. No install script of
a package runs (npm's `--ignore-scripts`, wheels only); a failure leaves nothing behind but its words.
"""

import fcntl
import hashlib
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from zoo.manifest import HERE, Client, Packages

ROOT = HERE.parents[1]
ZOO = ROOT / ".cache" / "zoo"
AS_OF = "2026-11-15T00:00:00Z"
_DATED = "--uploaded-prior-to"  # pip's
TIME_LIMIT_S = 600.0
DISK_LIMIT_BYTES = 6 * 1024**3
CLIENTS = HERE / "clients"


class InstallError(Exception):
    """It could not be installed; the sentence goes into the table."""


@dataclass(frozen=True)
class Installed:
    folder: Path
    bin: Path

    def program(self, name: str) -> str:
        """One of the package's own if there is such a one."""
        own = self.bin / name
        return str(own) if own.exists() else name


def install(name: str, packages: Packages) -> Installed:
    """At once where it is there already."""
    for tool in packages.needs:
        if shutil.which(tool) is None:
            raise InstallError(f"needs {tool}, which is not on this machine")
    if _is_in_our_environment(packages):
        return Installed(Path(sys.prefix), Path(sys.executable).parent)
    folder = ZOO / "installed" / f"{name}-{_digest(packages)}"
    installed = Installed(folder, _bin(folder, packages))
    with _alone(name):
        _make(name, packages, folder)
    return installed


def _is_in_our_environment(packages: Packages) -> bool:
    """Every version that the entry names: a second copy of it would show nothing new."""
    if not packages.pypi or packages.python or packages.from_source:
        return False
    for pinned in packages.pypi:
        name, _, wanted = pinned.partition("==")
        try:
            if version(name) != wanted:
                return False
        except PackageNotFoundError:
            return False
    return True


@contextmanager
def _alone(name: str) -> Iterator[None]:
    """Tests in several processes may want the same package."""
    lock = ZOO / "installed" / f"{name}.lock"
    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _make(name: str, packages: Packages, folder: Path) -> None:
    stamp, failed = folder / ".complete", folder.with_suffix(".failed")
    if stamp.exists():
        return
    if failed.exists():
        raise InstallError(failed.read_text())
    if used() > DISK_LIMIT_BYTES:
        raise InstallError(f"the zoo has {DISK_LIMIT_BYTES // 1024**3} GiB of disk, and they are used")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    try:
        for command in _commands(folder, packages):
            _run_dated(command, folder)
    except InstallError as problem:
        shutil.rmtree(folder, ignore_errors=True)
        failed.write_text(str(problem))
        raise
    stamp.touch()
    _forget_others(name, folder)


def _run_dated(command: list[str], folder: Path) -> None:
    """As of that day where the index says when a package came; else as of today."""
    try:
        _run(command, folder)
    except InstallError as problem:
        if _DATED not in command or not any(words in str(problem) for words in ("upload-time", _DATED)):
            raise
        at = command.index(_DATED)
        _run(command[:at] + command[at + 2 :], folder)


def _forget_others(name: str, current: Path) -> None:
    """What an earlier state of the entry asked for."""
    for folder in current.parent.glob(f"{name}-" + "[0-9a-f]" * 12 + "*"):
        if folder.name.split(".")[0] != current.name:
            shutil.rmtree(folder) if folder.is_dir() else folder.unlink()


def forget_failures() -> None:
    for failed in (ZOO / "installed").glob("*.failed"):
        failed.unlink()


def used() -> int:
    """Bytes on the disk; a file that another installation takes away meanwhile does not matter."""
    if not (ZOO / "installed").exists():
        return 0
    done = subprocess.run(
        ["du", "-s", "-B1", str(ZOO / "installed")], capture_output=True, text=True, check=False
    )
    return int(done.stdout.split()[0])


def _digest(packages: Packages) -> str:
    wanted = {key: value for key, value in asdict(packages).items() if key in Packages.__dataclass_fields__}
    wanted["as of"] = AS_OF
    if packages.go or packages.rust:
        assert isinstance(packages, Client)
        sources = sorted((CLIENTS / packages.driver).rglob("*"))
        wanted["sources"] = [source.read_text() for source in sources if source.is_file()]
    return hashlib.sha256(json.dumps(wanted, sort_keys=True).encode()).hexdigest()[:12]


def _bin(folder: Path, packages: Packages) -> Path:
    if packages.npm:
        return folder / "node_modules" / ".bin"
    return folder / "bin"


def _commands(folder: Path, packages: Packages) -> list[list[str]]:
    if packages.npm:
        (folder / "package.json").write_text('{"private": true}')
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error", f"--before={AS_OF}"]
        return [[_tool("npm"), "install", *options, *packages.npm]]
    if packages.go or packages.rust:
        assert isinstance(packages, Client)
        return _build(folder, packages, CLIENTS / packages.driver)
    return _virtual_environment(folder, packages)


def _virtual_environment(folder: Path, packages: Packages) -> list[list[str]]:
    python = sys.executable if not packages.python else _tool(f"python{packages.python}")
    interpreter = str(folder / "bin" / "python")
    wheels = ["--only-binary", ":all:"]
    for name in packages.from_source:
        wheels += ["--no-binary", name]
    if shutil.which("uv") is not None:
        return [
            ["uv", "venv", "--quiet", "--allow-existing", "--no-python-downloads", "--python", python,
             str(folder)],
            ["uv", "pip", "install", "--quiet", "--python", interpreter, *wheels,
             "--exclude-newer", AS_OF, *packages.pypi],
        ]  # fmt: skip
    # Python compiles what is imported when it is; pip would compile all that there is.
    pip = [
        sys.executable,
        "-m",
        "pip",
        "--python",
        interpreter,
        "install",
        "--quiet",
        "--no-input",
        "--no-compile",
    ]
    return [
        [python, "-m", "venv", "--without-pip", str(folder)],
        [*pip, "--disable-pip-version-check", *wheels, _DATED, AS_OF,
         *packages.pypi],
    ]  # fmt: skip


def _build(folder: Path, client: Client, source: Path) -> list[list[str]]:
    """Go and Rust: the driver itself is built, from its sources and their lock file."""
    made = folder / "source"
    shutil.copytree(source, made)
    program = folder / "bin" / client.driver
    if client.go:
        return [[_tool("go"), "build", "-C", str(made), "-o", str(program), "."]]
    return [
        [_tool("cargo"), "install", "--quiet", "--locked", "--path", str(made), "--root", str(folder),
         "--target-dir", str(ZOO / "rust-target")],
    ]  # fmt: skip


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise InstallError(f"needs {name}, which is not on this machine")
    return found


def _run(command: list[str], folder: Path) -> None:
    quiet = {"DO_NOT_TRACK": "1", "PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}
    go = {"GOFLAGS": "-mod=readonly", "GOTOOLCHAIN": "local"}
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=TIME_LIMIT_S, env=os.environ | quiet | go,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InstallError(f"the installation took more than {TIME_LIMIT_S:.0f} s") from None
    if done.returncode != 0:
        words = " ".join((done.stderr or done.stdout).split())
        raise InstallError(f"{Path(command[0]).name} failed: {words[-600:]}")
