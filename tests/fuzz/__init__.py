"""A fuzzer of everything that reads strangers' bytes: scripts/fuzz bytes. The SQL guard has its own."""
