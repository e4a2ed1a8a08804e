"""PostgreSQL as a `Dialect`: pure knowledge, assembled from the lexer, the functions and the grammar."""

from types import MappingProxyType

from callgate.sql.engines.postgres.dialect import functions, grammar, refused_functions
from callgate.sql.engines.postgres.dialect.forms import EXPLAIN_HINT
from callgate.sql.engines.postgres.dialect.keywords import BEFORE_PARENTHESIS
from callgate.sql.engines.postgres.dialect.lexer import lex
from callgate.sql.guard.dialect import Dialect, Vocabulary, Wording
from callgate.sql.guard.tokens import word_set

_DEFINITION_KEYWORDS = word_set("check default exclude include key unique with")

# Passwords and their hashes, connection strings, the server's files, samples of every column. Which settings
# may be shown is decided by name, of pg_settings too (`settings_names`). The rest of
# pg_catalog may be read: pg_stats and pg_stat_activity show no more than the database user may see, and are
# what people look at when a query is slow.
_HIDDEN = word_set(
    """
    pg_authid pg_shadow pg_user_mapping pg_user_mappings user_mapping_options _pg_user_mappings
    pg_largeobject pg_hba_file_rules pg_ident_file_mappings pg_file_settings pg_statistic
    pg_statistic_ext_data pg_subscription pg_stat_wal_receiver pg_db_role_setting pg_config
    pg_shmem_allocations pg_backend_memory_contexts pg_foreign_server pg_foreign_table
    pg_foreign_data_wrapper foreign_server_options foreign_table_options foreign_data_wrapper_options
    _pg_foreign_servers _pg_foreign_tables _pg_foreign_table_columns _pg_foreign_data_wrappers
    """
)

_TABLES = (
    "SELECT table_schema, table_name FROM {master} "
    "WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY 1, 2"
)
_COLUMNS = (
    "SELECT column_name, data_type, is_nullable FROM information_schema.columns WHERE table_name = '{table}'"
)

POSTGRES = Dialect(
    name="postgres",
    display_name="PostgreSQL",
    parser_name="postgres",
    lex=lex,
    quotes="'\"",
    vocabulary=Vocabulary(
        functions=functions.ALLOWED,
        forbidden_functions=refused_functions.FORBIDDEN,
        table_functions=frozenset(),
        type_names=frozenset(),
        call_keywords=BEFORE_PARENTHESIS,
        definition_keywords=_DEFINITION_KEYWORDS | functions.SPELLINGS,
        hidden_tables=_HIDDEN,
        hidden_schemas=MappingProxyType({"pg_toast": frozenset[str]()}),
        system_schemas=frozenset({"pg_catalog", "information_schema", "pg_toast"}),
        system_prefixes=("pg_",),
        bare_prefixes=("pg_",),
        sized_functions=functions.SIZED,
        format_functions=functions.FORMATS,
        valued_names=frozenset({"pg_settings"}),
        telling_names=refused_functions.REFUSED | functions.SEQUENCES | {"current_setting", "pg_settings"},
    ),
    grammar=grammar.GRAMMAR,
    wording=Wording(
        reads="SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN, SHOW",
        never="DROP, TRUNCATE, COPY, DO, CALL, SET, GRANT, VACUUM, functions that are not built in",
        read_hint="Use SELECT, WITH … SELECT, VALUES, TABLE, EXPLAIN or SHOW.",
        explain_hint=EXPLAIN_HINT,
        hidden_hint="Read ordinary tables and views; information_schema.tables lists them. "
        "A setting is shown by SHOW name.",
        qualified_name="schema.table",
        list_tables_sql=_TABLES,
        describe_table_sql=_COLUMNS,
        examples=(
            "Columns: " + _COLUMNS.format(table="orders"),
            "Count by kind: SELECT table_type, count(*) FROM {master} GROUP BY table_type ORDER BY 2 DESC",
            "Plan of a query: EXPLAIN SELECT * FROM {master} LIMIT 10",
        ),
        write_examples=("Change data: UPDATE schema_name.table_name SET column_name = 'x' WHERE id = 1",),
        foreign_verbs=MappingProxyType(
            {
                "DESCRIBE": "PostgreSQL has no DESCRIBE. "
                "Use SELECT * FROM information_schema.columns WHERE table_name = '…'",
                "DESC": "PostgreSQL has no DESC statement. "
                "Use SELECT * FROM information_schema.columns WHERE table_name = '…'",
                "USE": "PostgreSQL has no USE. Name tables as schema.table",
                "PRAGMA": "PostgreSQL has no PRAGMA. Use information_schema.columns, or SHOW for settings",
                "FROM": "PostgreSQL needs SELECT before FROM: SELECT * FROM table_name",
                "REPLACE": "PostgreSQL has no REPLACE. Use INSERT … ON CONFLICT … DO UPDATE",
            }
        ),
    ),
)
