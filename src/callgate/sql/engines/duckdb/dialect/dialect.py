"""DuckDB as a `Dialect`: pure knowledge, assembled from the lexer, the reviewed functions and the grammar."""

from types import MappingProxyType

from callgate.sql.engines.duckdb.dialect import file_names, forms, functions, grammar, keywords
from callgate.sql.engines.duckdb.dialect.lexer import lex
from callgate.sql.guard.dialect import Dialect, Vocabulary, Wording
from callgate.sql.guard.tokens import word_set

_TYPE_NAMES = keywords.TYPES | word_set(
    "bit char character dec decimal float interval numeric time timestamp varchar"
)
_DEFINITION_KEYWORDS = word_set("check default generated key primary references unique stored virtual")

DUCKDB = Dialect(
    name="duckdb",
    display_name="DuckDB",
    parser_name="duckdb",
    lex=lex,
    quotes="'\"",
    vocabulary=Vocabulary(
        functions=functions.ALLOWED,
        forbidden_functions=functions.FORBIDDEN,
        table_functions=functions.TABLES,
        type_names=_TYPE_NAMES,
        call_keywords=keywords.RESERVED,
        definition_keywords=_DEFINITION_KEYWORDS,
        # Views that show paths on the host, secrets or other callers' statements.
        hidden_tables=word_set(
            """
            duckdb_databases duckdb_logs duckdb_secrets duckdb_variables pg_database
            pg_prepared_statements pg_settings pragma_database_list
            """
        ),
        system_schemas=word_set("information_schema pg_catalog system.main temp.main"),
        system_prefixes=("duckdb_", "pg_", "sqlite_", "pragma_"),
        bare_prefixes=("duckdb_", "pg_", "sqlite_", "pragma_"),
        sized_functions=functions.SIZED,
        format_functions=functions.FORMATS,
        series_functions=functions.SERIES,
        calls_methods=True,
        telling_names=file_names.ENDINGS,
    ),
    grammar=grammar.GRAMMAR,
    wording=Wording(
        reads="SELECT, FROM, WITH … SELECT, VALUES, TABLE, PIVOT, DESCRIBE, SUMMARIZE, SHOW, EXPLAIN",
        never="DROP, ATTACH, COPY, INSTALL, LOAD, SET, CALL, files as tables, macros",
        read_hint="Use SELECT, FROM, WITH … SELECT, VALUES, DESCRIBE, SUMMARIZE, SHOW TABLES or EXPLAIN.",
        explain_hint=forms.EXPLAIN_HINT,
        hidden_hint="Read ordinary tables and views; information_schema.tables lists them.",
        qualified_name="schema.table",
        list_tables_sql="SHOW TABLES",
        describe_table_sql="DESCRIBE {table}",
        examples=(
            "Table structure: DESCRIBE information_schema.tables",
            "All tables with their columns: SHOW ALL TABLES",
            "Profile of a query: SUMMARIZE SELECT table_name FROM {master}",
            "Plan of a query: EXPLAIN SELECT table_name FROM {master} LIMIT 10",
        ),
        write_examples=("Change data: UPDATE table_name SET column_name = 'x' WHERE id = 1",),
        foreign_verbs=MappingProxyType(
            {
                "REPLACE": "DuckDB has no REPLACE statement. Use INSERT OR REPLACE INTO table_name …",
            }
        ),
    ),
)
