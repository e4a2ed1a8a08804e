"""The flight recorder: events become redacted rows, rows become the record.

    emit (event loop: append, no I/O) > redact > journal (a file per process) > store (DuckDB, one holder)

Must not know who emits. Only redacted rows leave this room's first step: what is not redacted before the
first write is never gone, since DuckDB keeps overwritten bytes in its file.
"""
