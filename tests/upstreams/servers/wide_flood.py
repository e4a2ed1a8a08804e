"""Widens its stdout to a mebibyte, if asked to, and writes as many frames as asked without a pause."""

import fcntl
import os
import sys

_F_SETPIPE_SZ = 1031
if "wide" in sys.argv:
    fcntl.fcntl(1, _F_SETPIPE_SZ, 1024 * 1024)
frame = b'{"text": "%b"}\n' % (b"x" * 1008)
block = memoryview(frame * 1024)
for _ in range(int(sys.argv[1])):
    rest = block
    while rest:
        rest = rest[os.write(1, rest) :]
sys.stdin.buffer.read()
