"""The request tracking of one connection, with its timers, and a client's side of one ordered stream."""
