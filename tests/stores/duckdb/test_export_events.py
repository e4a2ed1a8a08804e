"""The file that an export is written to."""

from pathlib import Path

import pytest
from recorder.happenings import Open, a_session, settled

from callgate.ports.record_reader import EventFilter, ExportFormat
from callgate.recorder.stores.duckdb.reader import export_events


@pytest.mark.parametrize("kind", ["jsonl", "csv", "parquet"])
async def test_an_export_is_for_its_owner_only_and_goes_through_no_link(
    open_recorder: Open, tmp_path: Path, kind: ExportFormat
) -> None:
    record = open_recorder(True)
    record.emit(settled(a_session()))
    await record.reader.extent()
    path = tmp_path / "days" / "export-1.part"
    await record.reader.with_cursor(lambda cursor: export_events(cursor, path, kind, EventFilter()))
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size
    target = tmp_path / "target"
    target.write_text("precious")
    link = tmp_path / "days" / "export-2.part"
    link.symlink_to(target)
    with pytest.raises(FileExistsError):
        await record.reader.with_cursor(lambda cursor: export_events(cursor, link, kind, EventFilter()))
    assert target.read_text() == "precious"
