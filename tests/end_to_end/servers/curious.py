"""A stdio server that looks at its parent: what it could read of it goes into the file that is named."""

import os
import sys
from pathlib import Path

try:
    found = Path(f"/proc/{os.getppid()}/environ").read_bytes()
except OSError as problem:
    found = f"denied: {problem.strerror}".encode()
draft = Path(sys.argv[1]).with_suffix(".draft")
draft.write_bytes(found)
draft.rename(sys.argv[1])
sys.stdin.read()
