"""What is told beside the record: audit lines on stderr, traces for a collector, what the log says of servers."""
