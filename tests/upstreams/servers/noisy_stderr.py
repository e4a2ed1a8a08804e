"""Many lines on stderr, long and coloured, then one answer on stdout."""

import sys

for number in range(int(sys.argv[1])):
    sys.stderr.buffer.write(b"\x1b[31mline %d\x1b[0m \x07\xff " % number + b"y" * 2000 + b"\r\n")
sys.stderr.buffer.write(b"no newline at the end")
sys.stderr.flush()
print('"done"', flush=True)
sys.stdin.buffer.read()
