"""Talks on stdout as programs do that were never meant to speak a protocol there."""

import sys

sys.stdout.buffer.write(b"Starting server...\n\n   \r\n\xff\xfe\x00\n[DEBUG] {not json\n" + b'{"id": 1}\n')
sys.stdout.buffer.flush()
sys.stdin.buffer.read()
