"""Says something on both pipes and dies: `crasher.py 3` by exit code, `crasher.py SIGABRT` by signal.

`crasher.py 3 500`: says 500 things. `crasher.py 3 500 asked`: once it was sent a line.
"""

import os
import signal
import sys

how = sys.argv[1]
frames = int(sys.argv[2]) if len(sys.argv) > 2 else 1
if sys.argv[3:] == ["asked"]:
    sys.stdin.readline()
for number in range(frames):
    print(f'{{"last words": {number}}}')
sys.stdout.flush()
print("config file not found: /etc/thing.toml", file=sys.stderr)
print("giving up", end="", file=sys.stderr, flush=True)
if how.startswith("SIG"):
    os.kill(os.getpid(), getattr(signal, how))
os._exit(int(how))
