"""DuckDB's answers to the schema questions, from its duckdb_…() functions. `{database}` is a schema."""

# ruff: noqa: S608 - made of our own fragments only; values are bound

from callgate.sql.schema.queries import SchemaQueries

# Of the file that is open. Its schema `main` counts as internal, the tables in it do not.
_HERE_ONLY = "t.database_name = current_database() AND NOT t.internal"
_RELATIONS = f"""(
    SELECT t.schema_name, t.table_name AS name, 'BASE TABLE' AS kind, t.estimated_size AS rows, t.comment
    FROM duckdb_tables() AS t WHERE {_HERE_ONLY} AND NOT t.temporary
    UNION ALL
    SELECT t.schema_name, t.view_name, 'VIEW', NULL, t.comment
    FROM duckdb_views() AS t WHERE {_HERE_ONLY} AND NOT t.temporary) AS r"""
_OF_TABLE = "t.database_name = current_database() AND t.schema_name = :database AND t.table_name = :table"
_PAGE = "LIMIT :limit OFFSET :offset"
_REACH = "(:database = '' OR r.schema_name = :database)"

DUCKDB_QUERIES = SchemaQueries(
    schemata="""
        SELECT t.schema_name, 'UTF-8', 'BINARY' FROM duckdb_schemas() AS t
        WHERE t.database_name = current_database()
          AND t.schema_name NOT IN ('information_schema', 'pg_catalog') ORDER BY t.schema_name""",
    table_counts=f"SELECT r.schema_name, count(*) FROM {_RELATIONS} WHERE {_REACH} GROUP BY r.schema_name",
    table_names=f"""
        SELECT r.schema_name, r.name FROM {_RELATIONS} WHERE {_REACH} AND r.name ILIKE :like ESCAPE '|'
        ORDER BY r.name, r.schema_name {_PAGE}""",
    tables=f"""
        SELECT r.name, r.kind, 'DuckDB', r.rows, NULL, NULL, coalesce(r.comment, '')
        FROM {_RELATIONS} WHERE r.schema_name = :database AND r.name BETWEEN :first AND :last
        ORDER BY r.name""",
    table=f"""
        SELECT r.schema_name, r.name, r.kind, 'DuckDB', NULL, r.rows, NULL, NULL, NULL, NULL, NULL, NULL,
               NULL, coalesce(r.comment, '')
        FROM {_RELATIONS} WHERE r.schema_name = :database AND r.name = :table""",
    columns=f"""
        SELECT t.column_name, t.column_index, lower(regexp_replace(t.data_type, '[(].*', '')), t.data_type,
               t.is_nullable, '', t.column_default, '', coalesce(t.comment, ''), NULL, NULL
        FROM duckdb_columns() AS t WHERE {_OF_TABLE} ORDER BY t.column_index""",
    # Keys are kept as constraints, apart from the indexes that somebody created.
    indexes=f"""
        SELECT * FROM (
            SELECT t.constraint_name AS name, true, unnest(t.constraint_column_names) AS of_column, 'ART', '',
                   t.constraint_type = 'PRIMARY KEY' AS is_primary,
                   generate_subscripts(t.constraint_column_names, 1) AS part
            FROM duckdb_constraints() AS t
            WHERE {_OF_TABLE} AND t.constraint_type IN ('PRIMARY KEY', 'UNIQUE')
            UNION ALL
            SELECT t.index_name, t.is_unique, unnest(string_split(t.expressions[2:-2], ', ')), 'ART',
                   coalesce(t.comment, ''), false,
                   generate_subscripts(string_split(t.expressions[2:-2], ', '), 1)
            FROM duckdb_indexes() AS t WHERE {_OF_TABLE})
        ORDER BY NOT is_primary, name, part""",
    # The engine knows no rules: a foreign key restricts.
    foreign_keys=f"""
        SELECT t.constraint_name, unnest(t.constraint_column_names), NULL, t.referenced_table,
               unnest(t.referenced_column_names), 'NO ACTION', 'NO ACTION'
        FROM duckdb_constraints() AS t
        WHERE {_OF_TABLE} AND t.constraint_type = 'FOREIGN KEY' ORDER BY t.constraint_name""",
    # Nor can one lead out of its schema.
    referenced_by="""
        SELECT t.constraint_name, unnest(t.referenced_column_names), NULL, t.table_name,
               unnest(t.constraint_column_names), 'NO ACTION', 'NO ACTION'
        FROM duckdb_constraints() AS t
        WHERE t.database_name = current_database() AND t.schema_name = :database
          AND t.referenced_table = :table AND t.constraint_type = 'FOREIGN KEY'
        ORDER BY t.table_name, t.constraint_name""",
    find_tables=f"""
        SELECT r.schema_name, r.name, r.kind, r.rows, coalesce(r.comment, '') FROM {_RELATIONS}
        WHERE {_REACH} AND r.name ILIKE :like ESCAPE '|' ORDER BY r.schema_name, r.name {_PAGE}""",
    find_columns=f"""
        SELECT r.schema_name, r.table_name, r.column_name, r.data_type, r.is_nullable, coalesce(r.comment, '')
        FROM (SELECT t.* FROM duckdb_columns() AS t WHERE {_HERE_ONLY}) AS r
        WHERE {_REACH} AND r.column_name ILIKE :like ESCAPE '|'
        ORDER BY r.schema_name, r.table_name, r.column_index {_PAGE}""",
)
