"""SQLite as a `Dialect`: pure knowledge, assembled from the lexer, the reviewed functions and the pragmas."""

from types import MappingProxyType

from callgate.sql.engines.sqlite.dialect import functions, grammar, pragmas
from callgate.sql.engines.sqlite.dialect.lexer import lex
from callgate.sql.guard.dialect import Dialect, Vocabulary, Wording
from callgate.sql.guard.tokens import word_set

_TYPE_NAMES = word_set(
    """
    big bigint bit boolean char character clob date datetime decimal double float int int2 int8 integer
    mediumint money native nchar number numeric nvarchar precision real signed smallint string text time
    timestamp tinyint unsigned varbinary varchar varchar2 varying
    """
)
# RAISE is left out: it only means something in a trigger.
_CALL_KEYWORDS = word_set(
    """
    all and as between by case cast conflict distinct else escape except exists filter from glob group
    having if in intersect into is isnull join like limit match materialized not notnull offset on or over
    regexp returning select set then union using values when where
    """
)
_DEFINITION_KEYWORDS = word_set("check default key unique")

_TABLES = "SELECT name FROM {master} WHERE type IN ('table', 'view') ORDER BY name"

SQLITE = Dialect(
    name="sqlite",
    display_name="SQLite",
    parser_name="sqlite",
    lex=lex,
    quotes="'\"`",
    vocabulary=Vocabulary(
        functions=functions.ALLOWED,
        forbidden_functions=functions.FORBIDDEN,
        table_functions=functions.JSON_TABLES | functions.SERIES | pragmas.TABLES,
        type_names=_TYPE_NAMES,
        call_keywords=_CALL_KEYWORDS,
        definition_keywords=_DEFINITION_KEYWORDS,
        # Raw pages, page layout, other connections' SQL text, byte code, files: never what a reader of data
        # needs. Those of SQLite's command line are here too, should a library have them.
        hidden_tables=word_set(
            """
            btreeinfo bytecode completion csv dbstat fsdir sqlite_dbdata sqlite_dbpage sqlite_dbptr
            sqlite_stmt tables_used vsv zipfile
            """
        ),
        hidden_prefixes=("pragma_",),
        system_prefixes=("sqlite_",),
        bare_prefixes=("sqlite_",),
        needle_functions=functions.WITH_NEEDLE,
        sized_functions=functions.SIZED,
        format_functions=functions.FORMATS,
    ),
    grammar=grammar.GRAMMAR,
    wording=Wording(
        reads="SELECT, WITH … SELECT, VALUES, EXPLAIN, PRAGMA that only reads (e.g. table_info)",
        never="DROP, ATTACH, VACUUM, triggers, virtual tables",
        read_hint="Use SELECT, VALUES, WITH … SELECT, EXPLAIN or a PRAGMA that only reads.",
        explain_hint=grammar.EXPLAIN_HINT,
        hidden_hint="Read ordinary tables and views; sqlite_master lists them.",
        explain_prefix="EXPLAIN QUERY PLAN",
        smallest_of="min",
        list_tables_sql=_TABLES,
        describe_table_sql="PRAGMA table_info({table})",
        examples=(
            "Table structure: PRAGMA table_info(sqlite_master)",
            "Count by kind: SELECT type, count(*) AS n FROM {master} GROUP BY type ORDER BY n DESC",
            "Plan of a query: EXPLAIN QUERY PLAN SELECT name FROM {master} LIMIT 10",
        ),
        write_examples=("Change data: UPDATE table_name SET column_name = 'x' WHERE id = 1",),
        foreign_verbs=MappingProxyType(
            {
                "SHOW": f"SQLite has no SHOW. To list the tables: {_TABLES}",
                "DESCRIBE": "SQLite has no DESCRIBE. Use PRAGMA table_info(table_name)",
                "DESC": "SQLite has no DESC statement. Use PRAGMA table_info(table_name)",
                "TABLE": "SQLite has no TABLE statement. Use SELECT * FROM table_name",
                "FROM": "SQLite needs SELECT before FROM: SELECT * FROM table_name",
                "USE": "SQLite has no USE. Name tables as they are, or as schema.table",
            }
        ),
        table_list=grammar.table_list,
        note_on=grammar.note_on,
    ),
)
