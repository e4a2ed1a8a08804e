"""The guard: pure functions, default deny. `judge.judge(sql, policy)` is the door.

    lex and screen   what the database will really see; refuses what hides
    verbs            what each statement does, by the dialect's own tokens
    judge_statement  which rules apply to it, the dialect's small grammars (SHOW, EXPLAIN, PRAGMA) included
    calls            every name before a parenthesis must be allowed
    needles          what a text is searched for must be short and written out
    parse            sqlglot: allow-listed roots, no forbidden node anywhere, tables touched
    cte_names        which names in FROM are those of CTEs
    long_lists       written-out values, shortened for the parser
    defined          the table and the query inside a CREATE or ALTER

Knows no connection, no thread, no MCP. The engine layer stands behind it and must hold alone.
"""
