"""What people and programs ask over plain HTTP: the record, what stands behind us, health, the live stream.

Reads through `RecordReader`, `RowFeed` and `Status`, calls through `Caller`; must not know how rows are kept
or where upstreams live. Edge has already let the caller in: `request.state.principal`.
Begin with `operation`, then `http_api`.
"""
