"""Does what its first argument says to the path that is its second, and says what came of it in JSON.

`children`: starts one of its own, names it and itself, and waits.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

DEEDS = {
    "read": lambda path: path.read_text(),
    "change": lambda path: path.open("r+").write("x"),
    "make": lambda path: path.write_text("x"),
    "list": lambda path: sorted(one.name for one in path.iterdir()),
    "surroundings": lambda path: [str(Path.cwd()), dict(os.environ)],
    "children": lambda path: [subprocess.Popen(["sleep", "300"]).pid],
}

deed = sys.argv[1]
try:
    told = DEEDS[deed](Path(sys.argv[2]))
except OSError as problem:
    told = problem.strerror
print(json.dumps(told), flush=True)
sys.stdin.read()
