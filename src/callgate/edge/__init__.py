"""Where clients come in: Streamable HTTP of both eras, and ordered streams (stdio, the local socket).

Owns the one listener with its gate (Origin, Host, bearer token), body limits and HTTP itself. Must not know
upstreams or SQL: every message goes to the `Answerer`, everything that is not MCP to the mounted `HttpApp`.
"""
