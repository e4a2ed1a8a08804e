"""What tests need beside .venv, installed below .cache once for each state of a lock file.

Other versions of an SDK than ours, and programs that run on Node. Never a skip: what cannot be installed
fails the tests that need it, with the installer's own words.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

CACHE = Path(__file__).parents[1] / ".cache"
INSTALL_TIMEOUT_S = 600.0  # 60 MB of Node over a slow line


class InstallError(Exception):
    """It could not be installed: nothing was tested."""


def node_modules(source: Path, place: str) -> Path:
    """`node_modules` as `package-lock.json` in `source` pins it."""
    lock = source / "package-lock.json"

    def make(folder: Path) -> None:
        npm = shutil.which("npm")
        if npm is None:
            raise InstallError(f"{source.name} needs npm, and there is none here: install Node.js")
        for name in ("package.json", "package-lock.json"):
            shutil.copy(source / name, folder)
        options = ("--no-fund", "--no-audit", "--ignore-scripts", "--fetch-retries=1", "--loglevel=error")
        _run([npm, "ci", *options], folder)

    return _once(lock, CACHE / place, make) / "node_modules"


def python_packages(lock: Path, place: str) -> Path:
    """A folder with what `lock` pins, for PYTHONPATH; `python -S` then sees nothing else.

    Not a virtual environment: that does not survive being renamed into place.
    """

    def make(folder: Path) -> None:
        options = (
            "--quiet",
            "--no-input",
            "--no-compile",  # Python compiles what is imported when it is
            "--disable-pip-version-check",
            "--require-hashes",
            "-r",
            str(lock),
        )
        _run([sys.executable, "-m", "pip", "install", "--target", str(folder / "packages"), *options], folder)

    return _once(lock, CACHE / place, make) / "packages"


def _once(lock: Path, place: Path, make: Callable[[Path], None]) -> Path:
    folder = place / f"{lock.stem}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    if not folder.exists():
        place.mkdir(parents=True, exist_ok=True)
        # Renamed into place when it is whole: an interrupted or a second installation does no harm.
        with tempfile.TemporaryDirectory(dir=place, prefix="installing-") as unfinished:
            made = Path(unfinished) / "made"
            made.mkdir()
            make(made)
            if not folder.exists():
                made.rename(folder)
    return folder


def _run(command: list[str], folder: Path) -> None:
    try:
        done = subprocess.run(
            command, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=INSTALL_TIMEOUT_S,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise InstallError(f"{command[0]} was not done after {INSTALL_TIMEOUT_S:.0f} s") from None
    if done.returncode != 0:
        said = (done.stderr or done.stdout)[-2000:]
        raise InstallError(f"{Path(command[0]).name} failed; is its registry reachable?\n{said}")
