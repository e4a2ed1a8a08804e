"""The stores that a record may be kept in, a folder each."""
