"""Runs `callgate` and writes the name of every module that is imported, a line each, to $IMPORTS."""

import os
import sys
from typing import Any

log = os.open(os.environ["IMPORTS"], os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def note(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "import":
        os.write(log, f"{arguments[0]}\n".encode())


sys.addaudithook(note)

from callgate.cli.start import main  # noqa: E402

main()
