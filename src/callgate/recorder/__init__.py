"""The flight recorder: events become redacted rows, rows become the record.

    emit (event loop: append)                             intake
      > redact a group, journal it, let replies go        group_writer, build_rows, group_rows, redact/
          > frames: rows as JSON, bodies as they are      frame_rows, journal/
          > listeners                                     feed, listeners; shared_feed: over all gateways
      > batches for the store                             flush/
      > store: a DuckDB file a day, one holder            stores/duckdb/
    read (drains first)                                   a reader for each store; read/: what they share
    what one principal may see of it, as a file           excerpts of each store

Must not know who emits. Only redacted rows leave this room's first step: what is not redacted before the
first write is never gone, since DuckDB keeps overwritten bytes in its file.
"""
