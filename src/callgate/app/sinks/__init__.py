"""Sinks that hear of everything beside the record: the audit lines on stderr, and traces for a collector."""
