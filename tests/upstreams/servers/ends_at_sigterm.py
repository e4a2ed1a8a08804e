"""Ignores the end of its stdin, and leaves at SIGTERM after tidying up."""

import signal
import sys

signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
print('"ready"', flush=True)
signal.sigwait({signal.SIGTERM})
signal.sigtimedwait((), 0.2)  # tidying takes a moment
print("tidied up", file=sys.stderr, flush=True)
