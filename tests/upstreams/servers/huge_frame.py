"""One frame of as many bytes as asked, and a small one after it."""

import sys

size_bytes = int(sys.argv[1])
sys.stdout.buffer.write(b'"' + b"x" * (size_bytes - 2) + b'"\n' + b'"after"\n')
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
