"""DuckDB: what we know of its SQL (`dialect`, pure) and how we talk to it (`driver`).

    driver > lane > engine_process │pipe│ child > statement_run
                    our process    │    │ a process of its own, with a limit on its memory

DuckDB's own memory limit does not cover one huge value (`repeat('x', 2000000000)`), and a call into a
built-in function cannot be interrupted. A process can be limited, and killed: so the database lives in one.
"""
