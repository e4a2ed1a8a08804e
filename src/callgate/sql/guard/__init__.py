"""The guard: pure functions, default deny. `judge.judge(sql, policy)` is the door.

    lex and screen   what the database will really see; refuses what hides
    verbs            what each statement does, by the dialect's own tokens
    judge_statement  which rules apply to it, the dialect's small grammars (SHOW, EXPLAIN, PRAGMA) included
    shapes           values that no rule looks at are hidden from all of them: one judgement for each shape
    calls            every name before a parenthesis must be allowed; what is searched for must be short
    sizes            how much a call may make: counts, widths and precisions
    parse            sqlglot: allow-listed roots, no forbidden node anywhere, tables touched

Knows no connection, no thread, no MCP. The engine layer stands behind it and must hold alone.
"""
