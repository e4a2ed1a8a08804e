"""Starts another program of this folder as `npx` and `sh -c` do, in its group and on its pipes.

launcher.py wait <program> [args]    waits for it; dies of SIGTERM without passing it on
launcher.py leave <program> [args]   exits with 7 at once, and leaves the program behind
launcher.py escape <program> [args]  the same, with the program in a session of its own
"""

import os
import subprocess
import sys
from pathlib import Path

how, program, *args = sys.argv[1:]
inner = subprocess.Popen(
    [sys.executable, "-I", "-S", str(Path(__file__).with_name(program)), *args],
    start_new_session=how == "escape",
)
print([os.getpid(), inner.pid], flush=True)
if how == "wait":
    sys.exit(inner.wait())
os._exit(7)
