"""One frame about what it was given: environment, folder, arguments, descriptors, session."""

import json
import os
import sys

descriptors = sorted(int(name) for name in os.listdir("/proc/self/fd"))
print(
    json.dumps(
        {
            "env": dict(os.environ),
            "cwd": os.getcwd(),
            "args": sys.argv[1:],
            # listdir itself had one open, the next free number
            "open": [fd for fd in descriptors if os.path.exists(f"/proc/self/fd/{fd}")],
            "session": os.getsid(0),
            "pid": os.getpid(),
        }
    ),
    flush=True,
)
sys.stdin.buffer.read()
