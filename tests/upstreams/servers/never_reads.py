"""Does not touch its stdin before SIGUSR1; then counts the lines until one says "end"."""

import signal
import sys

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
print('"ready"', flush=True)
signal.sigwait({signal.SIGUSR1})
count = 0
for line in sys.stdin.buffer:
    if line == b'"end"\n':
        break
    count += 1
print(count, flush=True)
sys.stdin.buffer.read()
