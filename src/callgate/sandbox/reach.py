"""Which files a confined program reaches, as Landlock's rules. Looks at the file system; changes nothing.

Rules
1. Readable: the system, interpreters on PATH, the program, what its arguments name, its folder, `reads`.
   Writable: `writes`, and a folder of its own. All else is out of reach.
2. A folder that holds our state, our file, or the user's home is never given, nor one with our own code to
   write to. Where the operator named it, the server does not start; where only an argument does, it is left
   out.
3. Landlock follows links when a rule is made. What lies inside a writable folder, or is reached by a link
   that does, is therefore never a rule by itself, and nothing is concluded from it: the program of an earlier
   start could have put a link to somewhere else in its place.
"""

import os
import shutil
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1, 1 << 1, 1 << 2, 1 << 3
_TRUNCATE, _IOCTL_DEVICE = 1 << 14, 1 << 15
_REMOVE: Final = 1 << 4 | 1 << 5
_MAKE: Final = 1 << 7 | 1 << 8 | 1 << 10 | 1 << 12  # folders, files, FIFOs, links; no devices, no sockets
_REFER: Final = 1 << 13
_READ: Final = _EXECUTE | _READ_FILE | _READ_DIR
_WRITE: Final = _READ | _WRITE_FILE | _TRUNCATE | _REMOVE | _MAKE | _REFER
_OF_FILES: Final = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE
_DEVICE: Final = _READ_FILE | _WRITE_FILE
_FIRST_SEVERAL: Final = (1 << 14) - 1  # rights of version 2
_TCP_SINCE, _IOCTL_SINCE, _SCOPES_SINCE = 4, 5, 6
_TCP: Final = 3  # to bind and to connect
_SCOPES: Final = 3  # abstract Unix sockets, and signals

_SYSTEM: Final = (
    *("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store", "/gnu/store"),
    # Not the whole of /etc: shadow, keys of TLS and SSH, and other programs' passwords are there.
    *("/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies"),
    *("/etc/debian_version", "/etc/fonts", "/etc/gai.conf", "/etc/group", "/etc/host.conf", "/etc/hostname"),
    *("/etc/hosts", "/etc/inputrc", "/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d"),
    *("/etc/ld.so.preload", "/etc/locale.alias", "/etc/locale.conf", "/etc/localtime", "/etc/magic"),
    *("/etc/mime.types", "/etc/nsswitch.conf", "/etc/os-release", "/etc/passwd", "/etc/pki/ca-trust"),
    *("/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/protocols"),
    *("/etc/resolv.conf", "/etc/services", "/etc/shells", "/etc/ssl/cert.pem", "/etc/ssl/certs"),
    *("/etc/ssl/openssl.cnf", "/etc/terminfo", "/etc/timezone", "/var/lib/ca-certificates"),
    # Of the kernel: what the machine has. Of processes only itself; /proc of others tells their arguments.
    *("/proc/cpuinfo", "/proc/filesystems", "/proc/loadavg", "/proc/meminfo", "/proc/self", "/proc/stat"),
    *("/proc/sys/fs", "/proc/sys/kernel", "/proc/sys/vm", "/proc/uptime", "/proc/version", "/proc/vmstat"),
    *("/sys/devices/system", "/sys/fs/cgroup", "/sys/kernel/mm/transparent_hugepage"),
)
_DEVICES: Final = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
# What starts servers, and what their scripts name in their first line.
_INTERPRETERS: Final = (
    *("node", "npm", "npx", "pnpm", "yarn", "bun", "bunx", "deno", "python3", "python", "pip", "uv", "uvx"),
    *("pipx", "ruby", "java", "perl", "sh", "bash", "env"),
)
_SCRIPTS: Final = frozenset((".py", ".js", ".mjs", ".cjs", ".ts", ".mts", ".rb", ".jar"))
_PACKAGES: Final = "node_modules"
_PROJECT_SIGNS: Final = ("package.json", "pyproject.toml", _PACKAGES, "pyvenv.cfg")
_FIRST_LINE_BYTES: Final = 256  # as much of it as the kernel reads
_MOST_LINKS: Final = 40  # on the way to one file, as many as the kernel follows


class OutOfReachError(Exception):
    """The sentence says which folder of the operator's, and why not."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """What no confined program may reach."""

    state: Path
    home: Path
    files: tuple[Path, ...] = ()  # of ours, elsewhere: the configuration, the record
    code: tuple[Path, ...] = ()  # what we run ourselves, unconfined: it may be read, and not written to

    @property
    def ours(self) -> tuple[Path, ...]:
        return self.state, *self.files

    def held_by(self, folder: Path, *, is_written: bool = False) -> str:
        """What of it is in this folder, or is the folder that it is in; empty if nothing."""
        kept = (*self.ours, *self.code) if is_written else self.ours
        for path in kept:
            if path.is_relative_to(folder):
                return f"holds {path}, which is Callgate's own"
        for path in kept:
            if folder.is_relative_to(path):
                return f"is inside {path}, which is Callgate's own"
        return f"holds the home folder {self.home}" if self.home.is_relative_to(folder) else ""


@dataclass(frozen=True, slots=True)
class Wishes:
    """What one program is to reach; every path absolute."""

    program: Path
    arguments: tuple[str, ...]
    cwd: Path
    named_cwd: bool  # the operator wrote it
    own: Path  # a folder of its own, for whatever it writes
    reads: tuple[Path, ...]
    writes: tuple[Path, ...]


Grant = tuple[str, int]


def grants_of(wishes: Wishes, guarded: Guarded, search_path: str | None) -> list[Grant]:
    """Raises `OutOfReachError`."""
    own = wishes.own.resolve()
    # Its own folder is below our state: what is named in it needs no rule, and is not ours to guard.
    apart = _apart(list(_outside(wishes.writes, [own])))
    written = [own, *(_named(path, "writes", guarded) for path in apart)]
    # What is in a folder that it may write to has that folder's rule, and needs none.
    read = [_named(path, "reads", guarded) for path in _outside(wishes.reads, written)]
    if wishes.named_cwd:
        read += [_named(path, "cwd", guarded) for path in _outside([wishes.cwd], written)]
    found = [*_interpreters(wishes.program, search_path, guarded, written), *_arguments(wishes, written)]
    read += [
        path.resolve()
        for path in _outside(found, written)
        if path.exists() and not guarded.held_by(path.resolve())
    ]
    for path in map(Path, _SYSTEM):
        for ours in guarded.ours if path.is_dir() else ():
            if ours.is_relative_to(path.resolve()):
                raise OutOfReachError(
                    f"{ours}, which is Callgate's own, is inside {path}, which every program reads"
                )
    grants = [_grant(Path(path), _READ) for path in _SYSTEM if Path(path).exists()]
    grants += [(path, _DEVICE) for path in _DEVICES if Path(path).exists()]
    grants += [_grant(path, _READ) for path in read]
    return grants + [_grant(path, _WRITE) for path in written]


def ruleset_attributes(landlock: int, *, network: bool) -> bytes:
    """`struct landlock_ruleset_attr` as far as this version of Landlock knows it."""
    files = _FIRST_SEVERAL | _TRUNCATE | (_IOCTL_DEVICE if landlock >= _IOCTL_SINCE else 0)
    attributes = [files]
    if landlock >= _TCP_SINCE:
        attributes.append(0 if network else _TCP)
    if landlock >= _SCOPES_SINCE:
        attributes.append(_SCOPES)
    return struct.pack(f"={len(attributes)}Q", *attributes)


def _grant(path: Path, rights: int) -> Grant:
    return str(path), rights if path.is_dir() else rights & _OF_FILES


def _real(path: Path) -> Path:
    """Of a link to itself `resolve` raises what is no OSError."""
    return Path(os.path.realpath(path))


def _named(path: Path, key: str, guarded: Guarded) -> Path:
    try:
        real = path.resolve(strict=True)
    except (OSError, RuntimeError) as problem:
        raise OutOfReachError(f"{path} of its {key} does not exist") from problem
    if held := guarded.held_by(real, is_written=key == "writes"):
        raise OutOfReachError(f"{real} of its {key} {held}")
    return real


def _outside(paths: Iterable[Path], written: list[Path]) -> Iterator[Path]:
    """Without those that a program could have put a link in the way of: see rule 3."""
    for path in paths:
        if not any(place.is_relative_to(folder) for place in _places(path) for folder in written):
            yield path


def _apart(writes: list[Path]) -> Iterator[Path]:
    """Without those that are inside of another: they have its rights."""
    folders = set(map(_real, writes))
    for path in writes:
        inside = (folder in place.parents for place in _places(path) for folder in folders)
        if not any(inside):
            yield path


def _places(path: Path) -> Iterator[Path]:
    """Every place on the way to it, also those that its links lead through; each as it really is."""
    here, rest, links = Path("/"), [*reversed(path.parts[1:])], 0
    while rest:
        part = rest.pop()
        if part == "..":
            here = here.parent
            continue
        place = here / part
        yield place
        try:
            target = place.readlink() if links < _MOST_LINKS else None
        except OSError:  # most often it is no link; it may also be gone by now
            target = None
        if target is None:
            here = place
            continue
        links += 1
        rest += reversed(target.parts[1:] if target.is_absolute() else target.parts)
        here = Path("/") if target.is_absolute() else here


def _arguments(wishes: Wishes, written: list[Path]) -> Iterator[Path]:
    for argument in wishes.arguments:
        for text in (argument, argument.partition("=")[2]):
            # A long text is no path, and the system refuses to look for it.
            if text and "\0" not in text and len(text) < os.pathconf("/", "PC_PATH_MAX"):
                path = Path(os.path.normpath(wishes.cwd / text))
                for named in _outside([path] if os.path.lexists(path) else [], written):
                    yield named
                    yield from _around_script(_real(named))


def _interpreters(
    program: Path, search_path: str | None, guarded: Guarded, written: list[Path]
) -> Iterator[Path]:
    on_path = [Path(path) for name in _INTERPRETERS if (path := shutil.which(name, path=search_path))]
    own = list(_outside([program], written))
    named = [path for file in own for path in _first_line_of(file)]
    for file in _outside([*own, *named, *on_path], written):
        for path in (file, file.resolve()):
            yield path
            yield from _installation(path, guarded.home)
    for file in own:
        yield from _around_script(file.resolve())


def _installation(program: Path, home: Path) -> Iterator[Path]:
    """The folder above `bin`, where a program's libraries are. Not ~/.cargo, ~/.local and their like."""
    kind, above = program.parent.name, program.parent.parent
    if kind not in ("bin", "shims") or len(above.parts) < 3 or home.is_relative_to(above):
        return
    is_beside_secrets = above.parent == home or above == home / ".local"
    if kind == "shims" or not is_beside_secrets:  # shims (pyenv, asdf) read the whole installation
        yield above


def _around_script(file: Path) -> Iterator[Path]:
    """A script imports what is beside it, and what its project has installed."""
    if not file.is_file() or (file.suffix not in _SCRIPTS and not list(_first_line_of(file))):
        return
    yield file.parent
    if _PACKAGES in file.parts:
        yield Path(*file.parts[: file.parts.index(_PACKAGES) + 1])
        return
    roots = [folder for folder in file.parents if any((folder / sign).exists() for sign in _PROJECT_SIGNS)]
    yield from roots[:1]


def _first_line_of(program: Path) -> Iterator[Path]:
    try:
        with program.open("rb") as file:
            line = file.readline(_FIRST_LINE_BYTES)
    except OSError:
        return
    if line.startswith(b"#!") and (words := line[2:].split()):
        path = Path(os.fsdecode(words[0]))
        if path.is_absolute() and path.exists():
            yield path
