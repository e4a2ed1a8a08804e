"""What people and programs ask over plain HTTP: REST, health; later the live stream and the page.

Reads through `RecordReader` and `Status`; must not know how rows are stored or where upstreams live. Edge has
already let the caller in: `request.state.principal`.
"""
