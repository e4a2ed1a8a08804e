"""Reads of the record, as far as they do not depend on the store: pages, sums, limits."""
