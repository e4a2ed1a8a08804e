"""Parts of pages that benchmarks write: each between `<!-- NAME: begin -->` and `<!-- NAME: end -->`."""

import os
import platform
from datetime import UTC, datetime
from pathlib import Path

RESULTS = Path(__file__).parent / "RESULTS.md"
DOCS = Path(__file__).parent.parent / "docs"


def put(page: Path, part: str, text: str) -> None:
    begin, end = f"<!-- {part}: begin -->", f"<!-- {part}: end -->"
    head, found, rest = page.read_text().partition(begin)
    _, also_found, tail = rest.partition(end)
    if not found or not also_found:
        raise RuntimeError(f"{page} has no part {part!r}")
    page.write_text(f"{head}{begin}\n{text}\n{end}{tail}")


def machine() -> str:
    info = Path("/proc/cpuinfo").read_text()
    model = info.partition("model name")[2].partition("\n")[0].lstrip("\t :") or platform.machine()
    today = datetime.now(UTC).date().isoformat()
    versions = f"Linux {platform.release()}, Python {platform.python_version()}"
    return f"{model}, {os.cpu_count()} cores, {versions}, {today}"
