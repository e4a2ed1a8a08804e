"""What is told beside the record: audit lines, traces, and what the log says of servers."""
