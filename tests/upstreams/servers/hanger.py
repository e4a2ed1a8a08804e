"""Reads everything and answers nothing."""

import sys

print('"ready"', flush=True)
for _ in sys.stdin.buffer:
    pass
