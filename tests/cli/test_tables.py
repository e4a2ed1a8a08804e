"""Tables fit the terminal they are shown on, and what must be whole stays whole."""

import os
import sys
from pathlib import Path

import pytest
from cli.terminal_stage import run_on_terminal

CALL_ID = "01a1de73-eceb-7b0a-9782-fc382dacf764"
PROGRAM = f"""
from callgate.cli.tables import TableColumn, print_table
tool, said = TableColumn("tool", shrinks=True), TableColumn("said", shrinks=True, is_spare=True)
columns = [TableColumn("time"), tool, said, TableColumn("id")]
print_table(columns, [["08:30:00", "server__" + "long_" * 20, "\\x1b[31mSELECT\\n1 " * 30, "{CALL_ID}"]])
"""


def shown_on(width: int, folder: Path) -> list[str]:
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    program = folder / "show.py"
    program.write_text(PROGRAM)
    shown = run_on_terminal([sys.executable, str(program)], environment, folder, width=width)
    assert shown.exit_code == 0
    return [line.replace("\x1b[2m", "").replace("\x1b[0m", "") for line in shown.text.splitlines()]


@pytest.mark.parametrize(("width", "columns"), [(60, 3), (80, 4), (160, 4)])
def test_a_table_is_as_wide_as_the_terminal_and_ids_are_whole(
    tmp_path: Path, width: int, columns: int
) -> None:
    head, row, *missing = shown_on(width, tmp_path)
    assert missing == ([] if columns == 4 else ["No room for said: a wider terminal or --json shows all"])
    assert len(head.split()) == columns
    assert max(len(head), len(row)) <= width
    assert CALL_ID in row
    assert "\x1b" not in row
