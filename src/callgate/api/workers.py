"""What several workers say of themselves, as one answer: /metrics with a label, and what is wrong. Pure."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

_SAMPLE = re.compile(r"([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})? (\S+)")
_SUFFIXES = ("_bucket", "_sum", "_count")


def by_worker(told: Mapping[int, bytes | None]) -> str:
    """Each sample with the number of its worker, those of one metric together as the format wants it."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for number, raw in told.items():
        for line in (raw or b"").decode().splitlines():
            if line.startswith("#"):
                name = line.split(" ")[2]
                heads.setdefault(name, [])
                if line not in heads[name]:
                    heads[name].append(line)
            elif (match := _SAMPLE.fullmatch(line)) is not None:
                name, labels, value = match.groups()
                labels = f'{labels},worker="{number}"' if labels else f'worker="{number}"'
                samples.setdefault(_family(name, heads), []).append(f"{name}{{{labels}}} {value}")
    lines = [
        "# HELP callgate_worker_up Whether a worker answers.",
        "# TYPE callgate_worker_up gauge",
        *(f'callgate_worker_up{{worker="{number}"}} {int(raw is not None)}' for number, raw in told.items()),
    ]
    for name, head in heads.items():
        lines += [*head, *samples.get(name, ())]
    return "\n".join(lines) + "\n"


def _family(name: str, heads: Mapping[str, object]) -> str:
    if name not in heads:
        for suffix in _SUFFIXES:
            if name.endswith(suffix) and name.removesuffix(suffix) in heads:
                return name.removesuffix(suffix)
    return name


def problems_of_workers(told: Mapping[int, bytes | None]) -> list[str]:
    """From what each says at /healthz. Their servers are told by `merged_health`."""
    problems: list[str] = []
    for number, raw in told.items():
        if raw is None:
            problems.append(f"Worker {number} does not answer. It is started again when it ends")
            continue
        body: dict[str, Any] = msgspec.json.decode(raw)
        wrong: list[str] = [*body.get("problems", ())]
        if body.get("record"):
            wrong.append(body["record"])
        problems += [f"Worker {number}: {text}" for text in wrong]
    return problems
