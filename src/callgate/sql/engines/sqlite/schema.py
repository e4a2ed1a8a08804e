"""SQLite's answers to the schema questions, from its pragma functions.

A file has one schema: `main`, or the name it is attached under. It keeps no estimate of rows and sizes, so
rows are counted up to a bound; foreign keys have no names and get their number.
"""

# ruff: noqa: S608 - made of our own fragments and quoted names only; values are bound

from callgate.sql.guard.policy import Policy
from callgate.sql.schema.queries import SchemaQueries

# Counting so many reads 40 MB at worst (a page each). Beyond, the highest rowid is the estimate.
_COUNTED_ROWS = 10_000

# Shadow tables are the inside of a full-text index, sqlite_… the engine's own.
_LISTED = "schema = :database AND type <> 'shadow' AND name NOT LIKE 'sqlite|_%' ESCAPE '|'"
_KIND = "CASE type WHEN 'view' THEN 'VIEW' ELSE 'BASE TABLE' END"
_ENGINE = "CASE type WHEN 'virtual' THEN 'SQLite virtual table' WHEN 'view' THEN NULL ELSE 'SQLite' END"
_DATA_TYPE = """lower(trim(CASE instr(type, '(') WHEN 0 THEN type
    ELSE substr(type, 1, instr(type, '(') - 1) END))"""
# Hidden columns of virtual tables are 1, generated ones 2 (virtual) and 3 (stored).
_EXTRA = "CASE hidden WHEN 2 THEN 'VIRTUAL GENERATED' WHEN 3 THEN 'STORED GENERATED' ELSE '' END"


def sqlite_queries(policy: Policy) -> SchemaQueries:
    schema = _quoted_text(policy.schema or "main")
    listed = _LISTED.replace(":database", schema)
    in_reach = f"{listed} AND :database IN ('', {schema})"
    page = "LIMIT :limit OFFSET :offset"
    found = f"{in_reach} AND name LIKE :like ESCAPE '|'"
    return SchemaQueries(
        schemata=f"SELECT {schema}, encoding, 'BINARY' FROM pragma_encoding",
        table_counts=f"SELECT {schema}, count(*) FROM pragma_table_list WHERE {in_reach}",
        table_names=f"SELECT {schema}, name FROM pragma_table_list WHERE {found} ORDER BY name {page}",
        tables=f"""
            SELECT name, {_KIND}, {_ENGINE}, NULL, NULL, NULL, ''
            FROM pragma_table_list WHERE {_LISTED} AND name BETWEEN :first AND :last ORDER BY name""",
        table=f"""
            SELECT schema, name, {_KIND}, {_ENGINE},
                   CASE WHEN wr THEN 'WITHOUT ROWID' WHEN strict THEN 'STRICT' END,
                   NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, ''
            FROM pragma_table_list WHERE {_LISTED} AND name = :table""",
        columns=f"""
            SELECT name, cid + 1, {_DATA_TYPE}, type, NOT "notnull" AND NOT pk,
                   CASE WHEN pk THEN 'PRI' ELSE '' END, dflt_value, {_EXTRA}, '', NULL, NULL
            FROM pragma_table_xinfo(:table, :database) WHERE hidden <> 1 ORDER BY cid""",
        # A rowid table's INTEGER PRIMARY KEY is the rowid itself and has no index of its own.
        indexes="""
            SELECT 'PRIMARY', 1, name, 'ROWID', '', 1, 0 AS at, pk
            FROM pragma_table_xinfo(:table, :database)
            WHERE pk AND NOT EXISTS (SELECT 1 FROM pragma_index_list(:table, :database) WHERE origin = 'pk')
            UNION ALL
            SELECT l.name, l."unique", coalesce(i.name, '(expression)'), 'BTREE',
                   CASE WHEN l.partial THEN 'partial' ELSE '' END, l.origin = 'pk', l.seq + 1, i.seqno
            FROM pragma_index_list(:table, :database) AS l, pragma_index_info(l.name, :database) AS i
            ORDER BY 7, 8""",
        foreign_keys="""
            SELECT 'foreign key ' || f.id, f."from", NULL, f."table",
                   coalesce(f."to", (
                       SELECT p.name FROM pragma_table_xinfo(f."table", :database) AS p WHERE p.pk = f.seq + 1
                   )), f.on_update, f.on_delete
            FROM pragma_foreign_key_list(:table, :database) AS f ORDER BY f.id, f.seq""",
        # Names of tables are compared as SQLite does it: without regard to the case of ASCII letters.
        referenced_by=f"""
            SELECT 'foreign key ' || f.id,
                   coalesce(f."to", (
                       SELECT p.name FROM pragma_table_xinfo(:table, :database) AS p WHERE p.pk = f.seq + 1
                   )), NULL, t.name, f."from", f.on_update, f.on_delete
            FROM (SELECT name, schema FROM pragma_table_list WHERE {_LISTED}) AS t,
                 pragma_foreign_key_list(t.name, t.schema) AS f
            WHERE f."table" = :table COLLATE NOCASE ORDER BY t.name, f.id, f.seq""",
        find_tables=f"""
            SELECT schema, name, {_KIND}, NULL, '' FROM pragma_table_list
            WHERE {found} ORDER BY name {page}""",
        find_columns=f"""
            SELECT t.schema, t.name, c.name, c.type, NOT c."notnull" AND NOT c.pk, ''
            FROM (SELECT schema, name FROM pragma_table_list WHERE {in_reach}) AS t,
                 pragma_table_xinfo(t.name, t.schema) AS c
            WHERE c.hidden <> 1 AND c.name LIKE :like ESCAPE '|' ORDER BY t.name, c.cid {page}""",
        count_rows=_count_rows,
    )


def _count_rows(database: str, table: str) -> str:
    name = f"{_quoted_name(database)}.{_quoted_name(table)}"
    return (
        f"SELECT CASE WHEN n <= {_COUNTED_ROWS} THEN n ELSE (SELECT max(rowid) FROM {name}) END "
        f"FROM (SELECT count(*) AS n FROM (SELECT 1 FROM {name} LIMIT {_COUNTED_ROWS + 1}))"
    )


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
