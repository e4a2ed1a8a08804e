"""The built-in SQL server: sources, dialects, guard, drivers, results, tools.

A source is an upstream like any other.

    settings > policy ┬ guard     judge(sql, policy): lex > small grammars > parser > functions; pure
                      ├ tool      the query tool's description, schemas and annotations; pure
                      └ sqlite    dialect (pure knowledge) and driver (talks to the file, in worker threads)
    server                        ports.upstream.Upstream: arguments > judge > driver > results

Must not know: MCP transport, HTTP, the operator's file. Counterpart: `relay` asks it like any other upstream.
"""
