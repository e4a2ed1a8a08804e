"""docs/real-servers.py does what its page says, with the servers from npm that it names."""

import os
import subprocess
import sys

from docs.markdown_blocks import ROOT, blocks, commands
from docs.printed import is_printed


def test_the_script_prints_what_its_page_shows() -> None:
    (block,) = [block for block in blocks("console") if block.document.name == "real-servers.md"]
    (command,) = commands(block)
    assert command.typed == ".venv/bin/python docs/real-servers.py"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("CALLGATE")}
    done = subprocess.run(
        [sys.executable, ROOT / "docs/real-servers.py"], env=environment, cwd=ROOT, capture_output=True,
        text=True, timeout=600, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert is_printed(command.printed, done.stdout), done.stdout
