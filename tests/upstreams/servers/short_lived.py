"""Notes when it started, and ends although nobody spoke to it: `short_lived.py <file>`."""

import sys
import time
from pathlib import Path

with Path(sys.argv[1]).open("a") as starts:
    starts.write(f"{time.monotonic()}\n")
