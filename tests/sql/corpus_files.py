"""The corpora as values: statements that must be refused, and statements that must run."""

import json
from pathlib import Path
from typing import Any

_FOLDER = Path(__file__).parent / "corpus"


def load(name: str) -> list[dict[str, Any]]:
    lines = (_FOLDER / f"{name}.jsonl").read_text().splitlines()
    entries = [json.loads(line) for line in lines]
    assert len({entry["id"] for entry in entries}) == len(entries), "an id is used twice"
    return entries
