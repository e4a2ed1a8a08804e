"""Reads of the record: pages, sums, exports, and excerpts of one principal's rows."""
