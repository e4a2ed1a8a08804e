"""The built-in SQL server: sources, dialects, guard, drivers, results, tools.

A source is an upstream like any other.

    settings > policy ┬ guard     judge(sql, policy): lex > small grammars > parser > functions; pure
                      ├ <engine>  dialect (pure knowledge), driver (talks), catalogue (its schemas)
                      │           drivers stand on network (sockets) or workers (threads)
                      ├ tool, explain_tool, search_objects, custom_tools     what a source can be asked to do
                      └ catalogue > resources, completion                    what it shows of its schema
    server                        ports.upstream.Upstream: arguments > tool > statement_runner > results
    record                        the same over an excerpt of the record, for each principal its own

Must not know: MCP transport, HTTP, the operator's file. Counterpart: `relay` asks it like any other upstream.
"""
