"""Closes its stdin and ignores SIGTERM; with "grandchild" it has one that does the same, in its group."""

import os
import signal
import subprocess
import sys

signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.close(0)
pids = [os.getpid()]
if "grandchild" in sys.argv:
    grandchild = subprocess.Popen(
        [sys.executable, "-I", "-S", __file__], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE
    )
    pids.append(grandchild.pid)
    assert grandchild.stdout is not None
    grandchild.stdout.readline()  # it ignores SIGTERM from here on
print(pids, flush=True)
while True:
    signal.pause()
