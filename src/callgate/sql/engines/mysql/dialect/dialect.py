"""MySQL and MariaDB as one `Dialect`: pure knowledge, assembled from lexer, functions and grammar."""

from types import MappingProxyType

from callgate.sql.engines.mysql.dialect import checks, definitions, functions, show, spelling
from callgate.sql.engines.mysql.dialect.lexer import lex
from callgate.sql.guard.dialect import COMMON_VERBS, Dialect, Grammar, VerbClass, Vocabulary, Wording
from callgate.sql.guard.phrases import TransactionPhrases
from callgate.sql.guard.tokens import word_set

# The statements of MySQL and MariaDB: verbs and transactions. Pure.
#
# Reads and writes: `checks` (tokens) and `spelling` (for the parser). SHOW, DESCRIBE, EXPLAIN: `show`. CREATE
# and ALTER: `definitions`.
_NEVER = word_set(
    """
    backup binlog cache change check checksum clone deallocate declare delimiter do execute get handler
    import install kill optimize prepare purge rename repair reset resignal restart shutdown signal source
    stop system uninstall unlock xa
    """
)

_TRANSACTION = TransactionPhrases(
    begin=(
        "BEGIN [WORK]",
        "START TRANSACTION [WITH CONSISTENT SNAPSHOT [, READ WRITE | , READ ONLY] | READ WRITE | READ ONLY]",
    ),
    end=("COMMIT [WORK] [AND NO CHAIN] [NO RELEASE]", "ROLLBACK [WORK] [AND NO CHAIN] [NO RELEASE]"),
    inside=("SAVEPOINT name", "RELEASE SAVEPOINT name", "ROLLBACK [WORK] TO [SAVEPOINT] name"),
)


GRAMMAR = Grammar(
    verbs=MappingProxyType(
        {
            **COMMON_VERBS,
            **dict.fromkeys((word.upper() for word in _NEVER), VerbClass.NEVER),
            "TABLE": VerbClass.READ,
            "REPLACE": VerbClass.WRITE,
            "START": VerbClass.TRANSACTION,
        }
    ),
    forms=MappingProxyType(
        {
            "SHOW": show.show,
            "DESCRIBE": show.describe,
            "DESC": show.describe,
            "EXPLAIN": show.describe,
            "ANALYZE": show.analyze,
            "HELP": show.help_topic,
        }
    ),
    canonical=spelling.canonical,
    transaction=_TRANSACTION.step,
    definition=definitions.definition,
    check_tokens=checks.check_tokens,
    called=checks.called,
    names_columns=checks.names_columns,
    fold_name=checks.fold_name,
    locks_in_write_mode=True,
)


# Keywords of both servers: no stored function can be called by such a name without quotes or a dot.
_TYPE_NAMES = word_set(
    """
    bigint binary bit blob bool boolean char character date datetime dec decimal double enum fixed float
    int integer json longblob longtext mediumblob mediumint mediumtext national nchar numeric nvarchar
    precision real set signed smallint text time timestamp tinyblob tinyint tinytext unsigned varbinary
    varchar varying year zerofill
    """
)
# Those that MariaDB does not reserve stand in `checks.calls_nothing`.
_CALL_KEYWORDS = word_set(
    """
    all and any as between binary by case collate cross distinct distinctrow div else end
    escape except exists force from group having high_priority ignore in index inner intersect interval
    into is join key left like limit match natural not offset on or order outer over partition
    regexp returning right rlike row rows select separator set some sounds sql_big_result
    sql_calc_found_rows sql_small_result straight_join then union
    update use using value values when where window with xor
    """
)
_DEFINITION_KEYWORDS = word_set(
    """
    add after always check column default foreign fulltext generated key keys modify primary references
    spatial stored unique virtual hash range list linear partitions than less first change index
    """
)
# In the mysql schema lie password hashes, routines and logs; these tables hold none of that.
_READABLE_IN_MYSQL = word_set(
    """
    help_category help_keyword help_relation help_topic innodb_index_stats innodb_table_stats time_zone
    time_zone_leap_second time_zone_name time_zone_transition time_zone_transition_type
    """
)
# Statements that other sessions have run, and their variables, with the values in them; the server's log and
# where its keys are. sys shows the last statement of each session once more. What runs just now may be seen
# (SHOW PROCESSLIST), as far as the account may see it, and so may statistics of statements without values.
_HISTORY_IN_SYS = ("processlist", "session")
_HIDDEN = word_set(
    """
    performance_schema.events_statements_current performance_schema.events_statements_history
    performance_schema.events_statements_history_long performance_schema.events_statements_summary_by_digest
    performance_schema.events_statements_summary_by_program performance_schema.prepared_statements_instances
    performance_schema.user_variables_by_thread performance_schema.error_log performance_schema.keyring_keys
    performance_schema.keyring_component_status information_schema.user_variables
    """
) | {f"sys.{prefix}{name}" for prefix in ("", "x$") for name in _HISTORY_IN_SYS}
# Statistics of statements, by their text without values. One column has a statement as it was run.
_PARTLY_HIDDEN = {
    "performance_schema.events_statements_summary_by_digest": frozenset({"query_sample_text"}),
}
_TABLES = "SHOW TABLES FROM database_name"

MYSQL = Dialect(
    name="mysql",
    display_name="MySQL",
    parser_name="mysql",
    lex=lex,
    quotes="'\"`",
    vocabulary=Vocabulary(
        functions=functions.ALLOWED,
        forbidden_functions=functions.FORBIDDEN,
        table_functions=frozenset({"json_table"}),
        type_names=_TYPE_NAMES,
        call_keywords=_CALL_KEYWORDS | _TYPE_NAMES,
        definition_keywords=_DEFINITION_KEYWORDS,
        hidden_tables=_HIDDEN,
        partly_hidden=MappingProxyType(_PARTLY_HIDDEN),
        hidden_schemas=MappingProxyType({"mysql": _READABLE_IN_MYSQL}),
        system_schemas=frozenset({"mysql", "information_schema", "performance_schema", "sys"}),
        bare_tables=frozenset({"dual"}),
        write_functions=functions.IN_WRITE_MODE,
    ),
    grammar=GRAMMAR,
    wording=Wording(
        reads="SELECT, WITH … SELECT, SHOW, DESCRIBE, EXPLAIN, VALUES, TABLE",
        never="DROP, TRUNCATE, GRANT, REVOKE, SET, CALL, LOAD DATA, KILL, FLUSH, INTO OUTFILE",
        read_hint="Use SELECT, WITH … SELECT, SHOW, DESCRIBE or EXPLAIN.",
        explain_hint=show.EXPLAIN_HINT,
        hidden_hint="Read ordinary tables and views; information_schema.tables lists them.",
        write_variable="MYSQL_ALLOW_WRITE",
        timeout_variable="MYSQL_QUERY_TIMEOUT",
        list_tables_sql=_TABLES,
        describe_table_sql="DESCRIBE {table}",
        examples=(
            "List databases: SHOW DATABASES",
            "Table structure: DESCRIBE information_schema.tables",
            "Biggest tables: SELECT table_name, table_rows FROM {master} ORDER BY data_length DESC LIMIT 10",
            "Plan of a query: EXPLAIN SELECT table_name FROM {master} LIMIT 10",
        ),
        write_examples=("Change data: UPDATE database_name.table_name SET column_name = 'x' WHERE id = 1",),
        foreign_verbs=MappingProxyType(
            {
                "USE": "Name tables as database.table; there is no current database to change.",
                "PRAGMA": "MySQL has no PRAGMA. Use DESCRIBE database.table or SHOW VARIABLES.",
                "FROM": "MySQL needs SELECT before FROM: SELECT * FROM database.table",
                "HELP": "MySQL's HELP is not offered here. Use SHOW and DESCRIBE.",
            }
        ),
    ),
)
