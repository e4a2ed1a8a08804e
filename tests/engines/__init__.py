"""The driver and guard suites on other servers than the machine's own: scripts/test-engines.

`packages` fetches and unpacks servers and proxies, `catalogue` names them, `columns` says which tests show what,
`report` writes docs/engines.md. The servers are started by tests/databases, as in every other test.
"""
