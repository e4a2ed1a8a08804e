"""As many frames as asked, as fast as the pipe takes them. Says on stderr when nobody reads for a while."""

import os
import select
import sys

frames = b"".join(b'{"number": %d}\n' % number for number in range(int(sys.argv[1])))
os.set_blocking(1, False)
rest = memoryview(frames)
while rest:
    if not select.select([], [1], [], 0.3)[1]:
        print("nobody reads", file=sys.stderr, flush=True)
        select.select([], [1], [])
    rest = rest[os.write(1, rest) :]
print("all written", file=sys.stderr, flush=True)
if "stay" in sys.argv:
    sys.stdin.buffer.read()
