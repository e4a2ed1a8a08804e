"""What another version left: the one before is read, a newer one stays as it is, and we say so.

`journal-3.journal` was written by the gateway of commit 36dce60, which was killed after two calls.
"""

import json
import shutil
from pathlib import Path

import pytest
from end_to_end.gateway_process import run_callgate

FIXTURE = Path(__file__).parents[2] / "recorder" / "versions" / "journal-3.journal"
CALLS = "SELECT sql, outcome FROM rpc_events ORDER BY ts"


@pytest.fixture
def journal(tmp_path: Path) -> Path:
    folder = tmp_path / "record" / "journal"
    folder.mkdir(parents=True, mode=0o700)
    for one in (tmp_path, folder.parent):
        one.chmod(0o700)
    return Path(shutil.copy(FIXTURE, folder / "24928-dbcd9dc556a2.000000.journal"))


async def test_the_journal_of_the_version_before_is_stored_and_goes(tmp_path: Path, journal: Path) -> None:
    found = await run_callgate(tmp_path, "query", CALLS, "--json")
    assert found.exit_code == 0, found.stderr
    assert json.loads(found.stdout)["rows"] == [
        ["SELECT 40 + 2 AS answer", "answered"],
        ["SELECT nothing FROM nowhere", "tool_error"],
    ]
    assert not journal.exists()


async def test_the_journal_of_a_newer_version_stays_and_is_named(tmp_path: Path, journal: Path) -> None:
    newer = journal.read_bytes().replace(b"callgate-journal-3\n", b"callgate-journal-9\n")
    journal.write_bytes(newer)
    found = await run_callgate(tmp_path, "query", CALLS, "--json")
    assert json.loads(found.stdout)["rows"] == []
    assert f"{journal} was written by a newer Callgate and is left as it is" in found.stderr
    assert journal.read_bytes() == newer
    assert list(journal.parent.iterdir()) == [journal]
