"""The append-only file of each process: its frames, its writes, its way to the disk."""
