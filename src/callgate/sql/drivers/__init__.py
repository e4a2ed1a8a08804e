"""What every driver is (`driver`), and what they stand on: `network` (sockets) or `workers` (threads)."""
