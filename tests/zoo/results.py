"""What was found, kept below .cache/zoo for one state of the gateway, of an entry and of its driver."""

import hashlib
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from zoo.install import AS_OF, CLIENTS, ROOT, ZOO
from zoo.manifest import HERE, Client, Json, Server


@dataclass
class Result:
    """One server or client, on every way. `differences` of a way are those of `compare.Difference`."""

    name: str
    version: str
    problem: str = ""
    """Why nothing could be tried: it is not installed, or does not work directly."""
    counts: dict[str, int] = field(default_factory=dict)
    calls: int = 0
    ways: dict[str, Json] = field(default_factory=dict)


def _digest_of(files: list[Path], *more: Any) -> str:
    digest = hashlib.sha256(json.dumps([AS_OF, *more], sort_keys=True, default=str).encode())
    for file in sorted(files):
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def gateway_digest() -> str:
    return _digest_of([*(ROOT / "src" / "callgate").rglob("*.py")])


def _file(entry: Server | Client, gateway: str) -> Path:
    kind = "server" if isinstance(entry, Server) else "client"
    # What decides what is seen; the rest is how it got here and how it is shown.
    files = [HERE / f"{name}.py" for name in ("talk", "observe", "compare", "stand", "try_server")]
    if isinstance(entry, Client):
        files.append(HERE / "try_client.py")
        driver = CLIENTS / entry.driver
        files += [driver] if driver.is_file() else [each for each in driver.rglob("*") if each.is_file()]
        files += CLIENTS.glob("driving.*")
    return ZOO / "results" / gateway / f"{kind}-{entry.name}-{_digest_of(files, asdict(entry))}.json"


def known(entry: Server | Client, gateway: str) -> Result | None:
    file = _file(entry, gateway)
    return Result(**json.loads(file.read_text())) if file.exists() else None


def keep(entry: Server | Client, gateway: str, result: Result) -> None:
    file = _file(entry, gateway)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(result), ensure_ascii=False, indent=1))
