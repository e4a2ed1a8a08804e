"""The built-in SQL server: sources, dialects, guard, drivers, results, tools.

A source is an upstream like any other.

    settings                what the operator wrote about one source
    guard                   judge(sql, policy): lex > small grammars > parser > functions; pure
    drivers                 what a driver is; network (sockets) and workers (threads), on which drivers stand
    results                 what a caller gets to see of a driver's rows
    schema                  what is in a database: read by a driver, for resources, search and completion
    engines/<engine>        dialect (pure knowledge), driver (talks), schema (its queries), failures, posture
    server                  ports.upstream.Upstream: arguments > tool > statement_runner > results
    record                  the same over an excerpt of the record, for each principal its own
    demo                    the demo database

Each folder imports only those above it. Must not know: MCP transport, HTTP, the operator's file. Counterpart:
`relay` asks it like any other upstream.
"""
