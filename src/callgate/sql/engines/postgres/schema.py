"""PostgreSQL's answers to the schema questions, from pg_catalog. `{database}` is a schema here.

pg_catalog and not information_schema: the latter hides indexes, sizes, comments, and constraints of tables
that the account may read but not change. Only what the account may use is listed.
"""

# ruff: noqa: S608 - made of our own fragments only; values are bound

from callgate.sql.schema.queries import SchemaQueries

_OURS = """n.nspname <> 'information_schema' AND n.nspname NOT LIKE 'pg|_%' ESCAPE '|'
    AND has_schema_privilege(n.oid, 'USAGE')"""
# Ordinary, partitioned and foreign tables, views and materialised views.
_READABLE = """c.relkind IN ('r', 'p', 'f', 'v', 'm') AND (has_table_privilege(c.oid, 'SELECT')
    OR has_any_column_privilege(c.oid, 'SELECT'))"""
_KIND = """CASE c.relkind WHEN 'v' THEN 'VIEW' WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'f' THEN 'FOREIGN TABLE'
    WHEN 'p' THEN 'PARTITIONED TABLE' ELSE 'BASE TABLE' END"""
_ENGINE = """CASE c.relkind WHEN 'p' THEN 'partitioned' WHEN 'f' THEN 'foreign'
    WHEN 'm' THEN 'materialized view' WHEN 'v' THEN NULL
    ELSE (SELECT a.amname FROM pg_am AS a WHERE a.oid = c.relam) END"""
# -1 before the first ANALYZE, and of views.
_ROWS = "CASE WHEN c.relkind IN ('v', 'p') OR c.reltuples < 0 THEN NULL ELSE c.reltuples::bigint END"
_COMMENT = "coalesce(obj_description(c.oid, 'pg_class'), '')"
_TABLES = "FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace"
_HERE = "n.nspname = :database AND c.relname = :table"
_REACH = f"{_OURS} AND {_READABLE} AND (:database = '' OR n.nspname = :database)"
_PAGE = "LIMIT :limit OFFSET :offset"
_TYPE = "format_type(a.atttypid, a.atttypmod)"
_RULES = """CASE {column} WHEN 'a' THEN 'NO ACTION' WHEN 'r' THEN 'RESTRICT' WHEN 'c' THEN 'CASCADE'
    WHEN 'n' THEN 'SET NULL' ELSE 'SET DEFAULT' END"""

POSTGRES_QUERIES = SchemaQueries(
    schemata=f"""
        SELECT n.nspname, pg_encoding_to_char(d.encoding), d.datcollate
        FROM pg_namespace AS n, pg_database AS d
        WHERE d.datname = current_database() AND {_OURS} ORDER BY n.nspname""",
    table_counts=f"SELECT n.nspname, count(*) {_TABLES} WHERE {_REACH} GROUP BY n.nspname",
    table_names=f"""
        SELECT n.nspname, c.relname AS name {_TABLES} WHERE {_REACH} AND c.relname ILIKE :like ESCAPE '|'
        ORDER BY c.relname, n.nspname {_PAGE}""",
    tables=f"""
        SELECT c.relname, {_KIND}, {_ENGINE}, {_ROWS}, pg_table_size(c.oid), pg_indexes_size(c.oid),
               {_COMMENT}
        {_TABLES} WHERE n.nspname = :database AND {_OURS} AND {_READABLE}
          AND c.relname BETWEEN :first AND :last
        ORDER BY c.relname""",
    table=f"""
        SELECT n.nspname, c.relname, {_KIND}, {_ENGINE}, NULL, {_ROWS},
               CASE WHEN c.reltuples > 0 THEN (pg_table_size(c.oid) / c.reltuples)::bigint END,
               pg_table_size(c.oid), NULL, pg_indexes_size(c.oid), NULL, NULL, NULL, {_COMMENT}
        {_TABLES} WHERE {_HERE} AND {_OURS} AND {_READABLE}""",
    columns=f"""
        SELECT a.attname, row_number() OVER (ORDER BY a.attnum), t.typname, {_TYPE}, NOT a.attnotnull, '',
               CASE WHEN a.attgenerated = '' THEN pg_get_expr(d.adbin, d.adrelid) END,
               CASE WHEN a.attidentity <> '' THEN 'identity'
                    WHEN a.attgenerated <> '' THEN 'STORED GENERATED' ELSE '' END,
               coalesce(col_description(c.oid, a.attnum), ''), NULL,
               (SELECT o.collname FROM pg_collation AS o
                WHERE o.oid = a.attcollation AND o.collname <> 'default')
        {_TABLES} JOIN pg_attribute AS a ON a.attrelid = c.oid JOIN pg_type AS t ON t.oid = a.atttypid
        LEFT JOIN pg_attrdef AS d ON d.adrelid = c.oid AND d.adnum = a.attnum
        WHERE {_HERE} AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum""",
    # An index's expression has no attribute; INCLUDE columns are no part of the key.
    indexes=f"""
        SELECT i.relname, x.indisunique, coalesce(a.attname, pg_get_indexdef(x.indexrelid, k.at::int, true)),
               upper(m.amname), coalesce(obj_description(i.oid, 'pg_class'), ''), x.indisprimary
        {_TABLES} JOIN pg_index AS x ON x.indrelid = c.oid JOIN pg_class AS i ON i.oid = x.indexrelid
        JOIN pg_am AS m ON m.oid = i.relam
        CROSS JOIN LATERAL unnest(x.indkey::int2[]) WITH ORDINALITY AS k (attribute, at)
        LEFT JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.attribute AND k.attribute > 0
        WHERE {_HERE} AND k.at <= x.indnkeyatts ORDER BY NOT x.indisprimary, i.relname, k.at""",
    foreign_keys=f"""
        SELECT f.conname, a.attname, rn.nspname, rc.relname, ra.attname,
               {_RULES.format(column="f.confupdtype")}, {_RULES.format(column="f.confdeltype")}
        {_TABLES} JOIN pg_constraint AS f ON f.conrelid = c.oid AND f.contype = 'f'
        JOIN pg_class AS rc ON rc.oid = f.confrelid JOIN pg_namespace AS rn ON rn.oid = rc.relnamespace
        CROSS JOIN LATERAL unnest(f.conkey, f.confkey) WITH ORDINALITY AS k (own, other, at)
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.own
        JOIN pg_attribute AS ra ON ra.attrelid = rc.oid AND ra.attnum = k.other
        WHERE {_HERE} ORDER BY f.conname, k.at""",
    referenced_by=f"""
        SELECT f.conname, a.attname, rn.nspname, rc.relname, ra.attname,
               {_RULES.format(column="f.confupdtype")}, {_RULES.format(column="f.confdeltype")}
        {_TABLES} JOIN pg_constraint AS f ON f.confrelid = c.oid AND f.contype = 'f'
        JOIN pg_class AS rc ON rc.oid = f.conrelid JOIN pg_namespace AS rn ON rn.oid = rc.relnamespace
        CROSS JOIN LATERAL unnest(f.confkey, f.conkey) WITH ORDINALITY AS k (own, other, at)
        JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum = k.own
        JOIN pg_attribute AS ra ON ra.attrelid = rc.oid AND ra.attnum = k.other
        WHERE {_HERE} ORDER BY rn.nspname, rc.relname, f.conname, k.at""",
    find_tables=f"""
        SELECT n.nspname, c.relname, {_KIND}, {_ROWS}, {_COMMENT} {_TABLES}
        WHERE {_REACH} AND c.relname ILIKE :like ESCAPE '|' ORDER BY n.nspname, c.relname {_PAGE}""",
    find_columns=f"""
        SELECT n.nspname, c.relname, a.attname, {_TYPE}, NOT a.attnotnull,
               coalesce(col_description(c.oid, a.attnum), '')
        {_TABLES} JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        WHERE {_REACH} AND a.attname ILIKE :like ESCAPE '|' ORDER BY n.nspname, c.relname, a.attnum
        {_PAGE}""",
    # An enum, unless somebody made a cast to it that calls a function.
    own_types="""
        SELECT n.nspname, t.typname, pg_type_is_visible(t.oid) FROM pg_type AS t
        JOIN pg_namespace AS n ON n.oid = t.typnamespace
        WHERE t.typtype = 'e' AND NOT EXISTS (
            SELECT 1 FROM pg_cast AS k WHERE k.casttarget IN (t.oid, t.typarray) AND k.castfunc <> 0)""",
)
