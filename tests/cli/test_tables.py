"""Tables fit the terminal they are shown on, and what must be whole stays whole."""

import fcntl
import os
import pty
import struct
import subprocess
import sys
import termios
from pathlib import Path

import pytest

CALL_ID = "01a1de73-eceb-7b0a-9782-fc382dacf764"
PROGRAM = f"""
from callgate.cli.tables import Column, print_table
tool, said = Column("tool", shrinks=True), Column("said", shrinks=True, is_spare=True)
columns = [Column("time"), tool, said, Column("id")]
print_table(columns, [["08:30:00", "server__" + "long_" * 20, "\\x1b[31mSELECT\\n1 " * 30, "{CALL_ID}"]])
"""


def shown_on(width: int, folder: Path) -> list[str]:
    reader, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 24, width, 0, 0))
    environment = {**os.environ, "TERM": "xterm", "NO_COLOR": "1"}
    environment.pop("COLUMNS", None)
    program = folder / "show.py"
    program.write_text(PROGRAM)
    # rich asks stdin, stdout and stderr in turn how wide they are
    subprocess.run(
        [sys.executable, str(program)], stdin=terminal, stdout=terminal, stderr=terminal, check=True,
        env=environment,
    )  # fmt: skip
    os.close(terminal)
    told = b""
    while True:
        try:
            piece = os.read(reader, 65536)
        except OSError:  # Linux says it so when nobody has the terminal open any more
            break
        if not piece:
            break
        told += piece
    os.close(reader)
    return [line.replace("\x1b[2m", "").replace("\x1b[0m", "") for line in told.decode().splitlines()]


@pytest.mark.parametrize(("width", "columns"), [(60, 3), (80, 4), (160, 4)])
def test_a_table_is_as_wide_as_the_terminal_and_ids_are_whole(
    tmp_path: Path, width: int, columns: int
) -> None:
    head, row = shown_on(width, tmp_path)
    assert len(head.split()) == columns
    assert max(len(head), len(row)) <= width
    assert CALL_ID in row
    assert "\x1b" not in row
