"""HTTP/1.1 for one connection: bytes to requests, answers to bytes."""
