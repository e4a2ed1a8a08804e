"""Where the servers' data lives, and why two test runs at once do not meet there.

`<place>/templates/<key>` is an initialised data folder, made once and only ever copied.
`<place>/runs/<random>` is one server's copy. A run holds a lock on its folder; what a killed run left behind
is unlocked, and swept away.
"""

import fcntl
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "databases"


@dataclass(frozen=True)
class Account:
    """The system user that a server runs as."""

    name: str
    switch: tuple[str, ...] = ()  # the options that make setpriv become that user; none when we are it

    def command(self, *command: str | Path, dies_with_us_by: str | None = None) -> list[str | Path]:
        """The command as this user; the kernel sends it the named signal when pytest itself is killed."""
        options = [*self.switch, *([f"--pdeathsig={dies_with_us_by}"] if dies_with_us_by else [])]
        return ["setpriv", *options, "--", *command] if options else [*command]

    def own(self, folder: Path) -> None:
        if self.switch:
            shutil.chown(folder, self.name)


def our_account() -> Account:
    return Account(pwd.getpwuid(os.geteuid()).pw_name)


def unprivileged_account(name: str) -> Account:
    """For a server that refuses to run as root: the user `name` when we are root, else ourselves."""
    if os.geteuid() != 0:
        return our_account()
    return Account(name, (f"--reuid={name}", f"--regid={name}", "--init-groups"))


def place_for(engine: str, account: Account) -> Path:
    """A folder that `account` may write to: below .cache, or below /var/tmp when it cannot get there.

    That is so when root's checkout is in a folder closed to others; .cache then notes the other place.
    """
    place = CACHE / engine
    place.mkdir(parents=True, exist_ok=True)
    account.own(place)
    if subprocess.run(account.command("test", "-w", place), cwd="/").returncode == 0:
        return place
    note = CACHE / f"{engine}-place.txt"
    if note.exists():
        noted = Path(note.read_text().strip())
        # Anybody may create things in /var/tmp: only a folder that is still that account's own is trusted.
        if noted.is_dir() and not noted.is_symlink() and noted.owner() == account.name:
            return noted
    place = Path(tempfile.mkdtemp(prefix=f"callgate-tests-{engine}-", dir="/var/tmp"))
    account.own(place)
    note.write_text(f"{place}\n")
    return place


def template(place: Path, key: str, account: Account, initialise: Callable[[Path], None]) -> Path:
    """The initialised data folder of that key. Two runs may make it at once; the first to finish wins."""
    ready = place / "templates" / key
    if not ready.exists():
        ready.parent.mkdir(exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix="draft-", dir=ready.parent))
        account.own(draft)
        try:
            initialise(draft)
            draft.rename(ready)
        except OSError:
            if not ready.exists():
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return ready


@contextmanager
def run_folder(place: Path, account: Account) -> Iterator[Path]:
    """A new folder for one server, and its socket folder; both are removed at the end."""
    runs = place / "runs"
    runs.mkdir(exist_ok=True)
    # Nobody may sweep between the creation of a folder and its lock.
    with _locked(runs):
        for abandoned in runs.iterdir():
            if _is_unlocked(abandoned):
                _remove(abandoned)
        folder = Path(tempfile.mkdtemp(prefix="", dir=runs))
        lock = os.open(folder, os.O_RDONLY)
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        socket_folder_of(folder).mkdir(mode=0o700)
        account.own(folder)
        account.own(socket_folder_of(folder))
        yield folder
    finally:
        _remove(folder)
        os.close(lock)


def socket_folder_of(folder: Path) -> Path:
    """A short name: a Unix socket's path has at most 107 bytes, a checkout's often more."""
    return Path("/tmp") / f"callgate-{folder.name}"


def copy(source: Path, target: Path, account: Account) -> None:
    subprocess.run(account.command("cp", "--archive", "--reflink=auto", source, target), check=True, cwd="/")


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)


def _is_unlocked(folder: Path) -> bool:
    lock = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    else:
        return True
    finally:
        os.close(lock)


def _remove(folder: Path) -> None:
    shutil.rmtree(socket_folder_of(folder), ignore_errors=True)
    shutil.rmtree(folder)
