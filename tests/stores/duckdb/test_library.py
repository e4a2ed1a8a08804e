"""DuckDB is loaded with the first call; when there is no descriptor for that, it is told and tried again."""

import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
SCRIPT = """
import asyncio, sys
from pathlib import Path
from recorder.happenings import Record, a_session, settled
from recorder.no_descriptors import no_descriptors
from waiting import until

async def main():
    record = Record(Path(sys.argv[1]))
    assert "_duckdb" not in sys.modules, "a gateway that nobody has called does without"
    with no_descriptors():
        record.emit(settled(a_session(), sql="first"))
        await until(lambda: "Too many open files" in (record.problem() or ""))
    assert [entry.sql for entry in await record.source_requests()] == ["first"]
    await until(lambda: record.problem() is None)
    assert "_duckdb" in sys.modules
    await record.close()

asyncio.run(main())
"""


def test_it_is_loaded_with_the_first_call_and_again_when_that_failed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "record")]
    done = subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
