"""`callgate record …`: the record as a whole, moved to another store or into an archive."""

import sys
from typing import TYPE_CHECKING

from callgate.app.commands.record_days import archive_of, archive_record, copy_record
from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.cli.log import log_to_stderr
from callgate.cli.tables import TableColumn, print_table
from callgate.cli.terminal import Exit, ProgressLine, print_json, stderr
from callgate.config.sources.flags import Flags
from callgate.recorder.days.copy_days import CopiedSection, CopyProgress

if TYPE_CHECKING:
    from callgate.recorder.archive.archive import ArchivedDay, CheckedDay

_LEFT_OUT = "The newest file was left out: a gateway writes to it. Run this again when it has stopped"
_DIGEST_CHARS = 16  # of 64: enough for a person to compare two


def run_copy(flags: Flags, come_from: str | None, go_to: str, as_json: bool) -> None:
    log_to_stderr()
    line = ProgressLine()

    def show(progress: CopyProgress) -> None:
        part = f"{progress.section} of {progress.sections}"
        line.show(f"{progress.day} ({part}): {progress.events:,} calls copied")

    try:
        copied = run_loop(copy_record(load_config(flags), come_from, go_to, show))
    finally:
        line.clear()
    if as_json:
        sections = [_section_json(section) for section in copied.sections]
        print_json({"sections": sections, "equal": copied.is_equal, "newest_left_out": copied.is_in_use})
    else:
        _print_sections(copied.sections)
        if copied.is_in_use:
            stderr().print(_LEFT_OUT, markup=False)
    if not copied.is_equal:
        sys.exit(Exit.PARTIAL)


def _section_json(section: CopiedSection) -> dict[str, object]:
    return {
        "day": section.day.isoformat(),
        "section": section.name,
        "copied": section.copied,
        "source": {"events": section.there.rows, "digest": section.there.hex},
        "target": {"events": section.here.rows, "digest": section.here.hex},
        "equal": section.is_equal,
    }


def _print_sections(copied: list[CopiedSection]) -> None:
    columns = (
        TableColumn("section"),
        TableColumn("copied now", is_number=True),
        TableColumn("source", is_number=True),
        TableColumn("target", is_number=True),
        TableColumn("digest of the source"),
        TableColumn("digest of the target"),
    )
    print_table(
        columns,
        [
            (
                section.name,
                section.copied,
                section.there.rows,
                section.here.rows,
                section.there.hex[:_DIGEST_CHARS],
                section.here.hex[:_DIGEST_CHARS],
            )
            for section in copied
        ],
    )
    differing = [section.name for section in copied if not section.is_equal]
    if differing:
        stderr().print(f"Both sides differ in: {', '.join(differing)}. Run it again", markup=False)
    else:
        total = sum(section.here.rows for section in copied)
        stderr().print(f"{total:,} calls are on both sides, and equal", style="dim", markup=False)


def run_archive(flags: Flags, go_to: str | None, as_json: bool) -> None:
    log_to_stderr()
    line = ProgressLine()
    try:
        days = run_loop(
            archive_record(load_config(flags), go_to, lambda day: line.show(f"{day}: being archived"))
        )
    finally:
        line.clear()
    if as_json:
        print_json({"days": [{"day": str(day.day), "state": day.state, **_told(day)} for day in days]})
        return
    columns = (
        TableColumn("day"),
        TableColumn("calls", is_number=True),
        TableColumn("files", is_number=True),
        TableColumn("bytes", is_number=True),
        TableColumn("state"),
    )
    rows = [(str(day.day), *_told(day).values(), day.state) for day in days]
    print_table(columns, rows)
    if not days:
        stderr().print("No day of the record is closed yet", style="dim", markup=False)


def _told(day: "ArchivedDay") -> dict[str, int | None]:
    manifest = day.manifest
    if manifest is None:
        return {"events": None, "files": None, "size_bytes": None}
    size_bytes = sum(file.size_bytes for file in manifest.files)
    return {"events": manifest.counts.events, "files": len(manifest.files), "size_bytes": size_bytes}


def run_archive_check(flags: Flags, go_to: str | None, as_json: bool) -> None:
    async def ask() -> "list[CheckedDay]":
        return await archive_of(load_config(flags).config, go_to).check()

    log_to_stderr()
    days = run_loop(ask())
    if as_json:
        print_json({"days": [{"day": day.day, "files": day.files, "problems": day.problems} for day in days]})
    else:
        columns = (
            TableColumn("day"),
            TableColumn("files", is_number=True),
            TableColumn("state", shrinks=True),
        )
        print_table(columns, [(day.day, day.files, "; ".join(day.problems) or "as written") for day in days])
        if not days:
            stderr().print("There is no day in this archive. Check its address", markup=False)
    if any(day.problems for day in days):
        sys.exit(Exit.PARTIAL)
