"""One frame about what it was given: environment, folder, arguments, descriptors, session."""

import json
import os
import sys
from pathlib import Path

listed = [int(path.name) for path in Path("/proc/self/fd").iterdir()]
surroundings = {
    "env": dict(os.environ),
    "cwd": str(Path.cwd()),
    "args": sys.argv[1:],
    # Looked at again: listing the folder needed a descriptor itself.
    "open": sorted(fd for fd in listed if Path(f"/proc/self/fd/{fd}").exists()),
    "session": os.getsid(0),
    "pid": os.getpid(),
}
print(json.dumps(surroundings), flush=True)
sys.stdin.buffer.read()
