"""What people install: the wheel holds the program and nothing else, and works in an empty environment."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STRAY = re.compile(r"(^|/)(\.|__pycache__|tests?/|node_modules)|\.(pyc|log|orig|rej|bak)$|~$")


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and the wheel that was built from it."""
    folder = tmp_path_factory.mktemp("dist")
    _run(sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT))
    return folder


@pytest.fixture(scope="module")
def installed(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The callgate command in a new environment that holds the wheel and what it depends on, and no more."""
    folder = tmp_path_factory.mktemp("installed")
    # The wheel's own dependencies decide what is installed; the lock only says in which version. Its hashes
    # would make pip demand one for the wheel too.
    locked = re.findall(r"^\S+==[^\\\n]+", (ROOT / "requirements.lock").read_text(), re.MULTILINE)
    constraints = folder / "constraints.txt"
    constraints.write_text("\n".join(locked))
    environment = folder / "venv"
    _run(sys.executable, "-m", "venv", "--without-pip", str(environment))
    pip = (
        sys.executable,
        "-m",
        "pip",
        "--python",
        str(environment / "bin" / "python"),
        "install",
        "--no-input",
    )
    _run(*pip, "--no-compile", "--constraint", str(constraints), str(_only(built, "*.whl")))
    return environment / "bin" / "callgate"


def test_the_wheel_holds_the_package_and_its_metadata_only(built: Path) -> None:
    with zipfile.ZipFile(_only(built, "*.whl")) as wheel:
        names = wheel.namelist()
    assert "callgate/py.typed" in names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {"callgate"}
    assert [name for name in names if STRAY.search(name)] == []
    modules = {name for name in names if name.startswith("callgate/") and name.endswith(".py")}
    assert modules == {
        str(path.relative_to(ROOT / "src")) for path in (ROOT / "src" / "callgate").rglob("*.py")
    }


def test_the_wheel_holds_the_whole_web_page(built: Path) -> None:
    with zipfile.ZipFile(_only(built, "*.whl")) as wheel:
        packed = {
            name.removeprefix("callgate/ui/"): wheel.read(name)
            for name in wheel.namelist()
            if name.startswith("callgate/ui/")
        }
    folder = ROOT / "src" / "callgate" / "ui"
    assert packed == {
        str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }
    named = re.findall(r'(?:src|href)="/([^"]+)"', packed["index.html"].decode())
    assert named
    assert set(named) <= packed.keys()


def test_the_sdist_holds_what_is_needed_to_build_it_only(built: Path) -> None:
    with tarfile.open(_only(built, "*.tar.gz")) as sdist:
        names = {name.partition("/")[2].partition("/")[0] for name in sdist.getnames()}
    required = {"src", "README.md", "LICENSE", "PKG-INFO", "pyproject.toml", "hatch_build.py"}
    assert required <= names <= required | {"CHANGELOG.md", ".gitignore"}


def test_the_wheel_says_whether_it_holds_compiled_code(built: Path) -> None:
    """A plain one is for every machine; one for this machine must be worth it."""
    wheel = _only(built, "*.whl")
    assert bool(_compiled(wheel)) != wheel.name.endswith("-none-any.whl")


def test_without_a_c_compiler_the_wheel_is_plain_python(tmp_path: Path) -> None:
    environment = os.environ | {"CC": "there-is-no-such-compiler"}
    _run(
        sys.executable,
        *("-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path), str(ROOT)),
        env=environment,
    )
    wheel = _only(tmp_path, "*.whl")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert _compiled(wheel) == []


def test_the_installed_command_tells_its_version(installed: Path, built: Path, tmp_path: Path) -> None:
    version = _only(built, "*.whl").name.split("-")[1]
    assert version in _callgate(installed, tmp_path, "--version")


def test_the_installed_command_calls_a_tool_of_the_demo(installed: Path, tmp_path: Path) -> None:
    output = _callgate(
        installed, tmp_path, "call", "demo__query", "query=SELECT count(*) AS n FROM shop.orders"
    )
    assert re.search(r"\b[1-9]\d*\b", output), output


def _callgate(command: Path, folder: Path, *arguments: str) -> str:
    """Run the command as a newcomer would: nothing configured, nothing recorded before."""
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("CALLGATE_", "MYSQL_"))
    }
    for name in ("DATABASE_URL", "DSN", "PYTHONPATH"):
        environment.pop(name, None)
    environment |= {"HOME": str(folder), "CALLGATE_STATE_DIR": str(folder / "state")}
    environment |= {
        f"XDG_{kind}_HOME": str(folder / kind.lower()) for kind in ("STATE", "CONFIG", "DATA", "CACHE")
    }
    return _run(str(command), *arguments, cwd=folder, env=environment)


def _compiled(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as packed:
        return [name for name in packed.namelist() if name.endswith((".so", ".pyd"))]


def _only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def _run(*command: str, cwd: Path = ROOT, env: dict[str, str] | None = None) -> str:
    done = subprocess.run(command, cwd=cwd, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert done.returncode == 0, f"{command} exited with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout
