"""The driver and guard suites on other servers than the machine's own: scripts/test-engines.

`catalogue` names servers and proxies, `packages` fetches and unpacks them, `selection` chooses the tests,
`results` keeps what they said, `report` writes docs/engines.md. tests/databases starts the servers.
"""
