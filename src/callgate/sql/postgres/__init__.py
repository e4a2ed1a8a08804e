"""PostgreSQL: its SQL as a `Dialect` (lexer, names, forms) and its `Driver`."""
