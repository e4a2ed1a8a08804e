"""Packages of another Debian suite, unpacked below .cache/engines. The machine's own stay as they are.

apt works here with folders of its own, and with an empty list of installed packages, so that it also names
every library. The address of the mirror is taken from the machine's configuration. A program of a newer suite
needs that suite's C library: each is replaced by a small script which starts it with the unpacked loader.
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

from engines.catalogue import Entry, Origin

PLACE = Path(__file__).parents[2] / ".cache" / "engines"
UBUNTU_VARIABLE = "CALLGATE_UBUNTU_MIRROR"
_DEBIAN_KEYS = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_UBUNTU_KEYS = "usr/share/keyrings/ubuntu-archive-keyring.gpg"
_PROGRAM_FOLDERS = ("usr/bin", "usr/sbin", "usr/lib/postgresql/*/bin")
_LOADERS = "**/ld-linux*.so.*"
# Scripts' interpreters and what only services need: large, and never started here.
_NEVER_STARTED = re.compile(r"perl|debconf|^adduser$|^systemd|^python3|^init-system")
_STARTER = """#!/bin/sh
exec '{loader}' --argv0 '{program}' --library-path '{libraries}' '{real}' "$@"
"""


class Missing(Exception):  # noqa: N818, it is the outcome of a search
    """A package cannot be had; says why."""


def root_of(name: str) -> Path:
    return PLACE / name


def is_unpacked(entry: Entry) -> bool:
    note = root_of(entry.name) / "versions.txt"
    # The scripts name the folder: in a checkout that was moved it is unpacked again.
    return note.exists() and note.read_text().splitlines()[-1] == str(note.parent)


def unpack(entry: Entry) -> Path:
    """The folder with the entry's packages and all that they need. What was unpacked before is used again."""
    root = root_of(entry.name)
    if not is_unpacked(entry):
        _unpack_packages(entry, root)
    return root


def _unpack_packages(entry: Entry, root: Path) -> None:
    apt = _Apt(entry.origin, entry.suite)
    version = apt.candidate(entry.packages[0])
    if not version.startswith(entry.version):
        found = f"has version {version}" if version else "does not have it"
        raise Missing(f"{entry.packages[0]} {entry.version}*: {entry.origin} {entry.suite} {found}")
    shutil.rmtree(root, ignore_errors=True)
    root.parent.mkdir(parents=True, exist_ok=True)
    for archive in apt.download(entry.packages):
        subprocess.run(["dpkg-deb", "-x", archive, root], check=True)
    _make_starters(root)
    (root / "versions.txt").write_text(f"{entry.packages[0]} {version}\n{root}\n")


class _Apt:
    """apt with folders of its own, for one suite."""

    def __init__(self, origin: Origin, suite: str) -> None:
        self._place = PLACE / "apt" / suite
        for folder in ("lists/partial", "cache/archives/partial"):
            (self._place / folder).mkdir(parents=True, exist_ok=True)
        (self._place / "status").touch()
        sources = self._place / "sources.list"
        mirror, keys = _ubuntu() if origin is Origin.UBUNTU else (_debian_mirror(), _DEBIAN_KEYS)
        signed_by = f"[signed-by={keys}] " if keys.exists() else ""
        sources.write_text(f"deb {signed_by}{mirror} {suite} main\n")
        self._options = [
            f"Dir::Etc::sourcelist={sources}",
            "Dir::Etc::sourceparts=-",
            f"Dir::State={self._place}",
            f"Dir::State::lists={self._place / 'lists'}",
            f"Dir::State::status={self._place / 'status'}",
            f"Dir::Cache={self._place / 'cache'}",
            "Acquire::Languages=none",
            "Acquire::Retries=3",
            "APT::Install-Recommends=false",
            "APT::Sandbox::User=",
            "Debug::NoLocking=true",
        ]
        if not list((self._place / "lists").glob("*Packages*")):
            self._run("apt-get", "update", "-qq")

    def candidate(self, package: str) -> str:
        shown = self._run("apt-cache", "policy", package)
        found = re.search(r"Candidate: (\S+)", shown)
        return found[1] if found is not None and found[1] != "(none)" else ""

    def download(self, packages: tuple[str, ...]) -> list[Path]:
        planned = self._run("apt-get", "--simulate", "install", *packages)
        wanted = [
            f"{name}={version}"
            for name, version in re.findall(r"^Inst (\S+) \((\S+)", planned, re.MULTILINE)
            if not _NEVER_STARTED.search(name)
        ]
        with tempfile.TemporaryDirectory(dir=PLACE, prefix="download-") as folder:
            self._run("apt-get", "download", *wanted, cwd=Path(folder))
            archives = self._place / "archives"
            archives.mkdir(exist_ok=True)
            return [Path(shutil.move(found, archives / found.name)) for found in Path(folder).glob("*.deb")]

    def _run(self, program: str, *arguments: str, cwd: Path | None = None) -> str:
        options = [word for option in self._options for word in ("-o", option)]
        try:
            done = subprocess.run(
                [program, *options, *arguments], capture_output=True, text=True, cwd=cwd, timeout=900
            )
        except FileNotFoundError:
            raise Missing(f"{program} is not on this machine") from None
        if done.returncode != 0:
            raise Missing(f"{program} {arguments[0]}: {done.stderr.strip()[-400:]}")
        return done.stdout


def _debian_mirror() -> str:
    """The first address that this machine's apt reads Debian from."""
    try:
        shown = subprocess.run(
            [
                "apt-get",
                "indextargets",
                "--format",
                "$(ORIGIN) $(REPO_URI) $(RELEASE)",
                "Created-By: Packages",
            ],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
    except (OSError, subprocess.CalledProcessError):
        raise Missing("this machine has no apt") from None
    for line in shown.splitlines():
        origin, _, rest = line.partition(" ")
        mirror, _, release = rest.partition(" ")
        if origin == "Debian" and "-" not in release:
            return mirror
    raise Missing("this machine's apt does not read from Debian (run apt-get update once)")


def _ubuntu() -> tuple[str, Path]:
    mirror = os.environ.get(UBUNTU_VARIABLE, "")
    if not mirror:
        raise Missing(
            f"Debian does not have it; Ubuntu does: set {UBUNTU_VARIABLE} to the address of a mirror"
        )
    keys = PLACE / "ubuntu-keys"
    if not (keys / _UBUNTU_KEYS).exists():
        for archive in _Apt(Origin.DEBIAN, "trixie").download(("ubuntu-archive-keyring",)):
            subprocess.run(["dpkg-deb", "-x", archive, keys], check=True)
    return mirror, keys / _UBUNTU_KEYS


def _make_starters(root: Path) -> None:
    folders = sorted({found.parent for found in root.glob("**/*.so*") if found.is_file()})
    loader = next(found for found in root.glob(_LOADERS) if found.is_file())
    libraries = ":".join(str(folder) for folder in folders if "gconv" not in folder.parts)
    for pattern in _PROGRAM_FOLDERS:
        for folder in root.glob(pattern):
            for program in folder.iterdir():
                if not program.is_symlink() and program.is_file() and program.read_bytes()[:4] == b"\x7fELF":
                    _make_starter(program, loader, libraries)


def _make_starter(program: Path, loader: Path, libraries: str) -> None:
    # Beside the program and under its name: PostgreSQL looks for its other files relative to where it is.
    real = program.parent / ".unpacked" / program.name
    real.parent.mkdir(exist_ok=True)
    program.rename(real)
    program.write_text(_STARTER.format(loader=loader, program=program, libraries=libraries, real=real))
    program.chmod(0o755)
