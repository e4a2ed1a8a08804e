"""MySQL's and MariaDB's answers to the schema questions, from INFORMATION_SCHEMA.

The account's own rights decide what is listed there. A foreign key's rules are in REFERENTIAL_CONSTRAINTS;
KEY_COLUMN_USAGE has none.
"""

# ruff: noqa: S608 - made of our own fragments only; values are bound

from callgate.sql.schema.queries import SchemaQueries

_SYSTEM = "('information_schema', 'performance_schema', 'mysql', 'sys')"
# SYSTEM VERSIONED tables are tables, and SEQUENCEs can be read like them.
_KIND = "CASE WHEN t.TABLE_TYPE LIKE '%VIEW' THEN 'VIEW' ELSE 'BASE TABLE' END"
# MariaDB says NULL for a default that is the word NULL and 'NULL' for one that is not there.
_DEFAULT = "NULLIF(c.COLUMN_DEFAULT, 'NULL')"
# Of a view the comment is the word VIEW.
_COMMENT = "IF(t.TABLE_TYPE LIKE '%VIEW', '', t.TABLE_COMMENT)"
_HERE = "t.TABLE_SCHEMA = :database AND t.TABLE_NAME = :table"
_PAGE = "LIMIT :limit OFFSET :offset"
_FOUND = f"t.TABLE_SCHEMA NOT IN {_SYSTEM} AND (:database = '' OR t.TABLE_SCHEMA = :database)"


def _named_tables(count: int) -> str:
    names = ", ".join(f":name_{at}" for at in range(count))
    return f"""
        SELECT t.TABLE_SCHEMA, t.TABLE_NAME, {_KIND}, t.TABLE_ROWS, {_COMMENT}
        FROM INFORMATION_SCHEMA.TABLES AS t WHERE t.TABLE_SCHEMA = :database AND t.TABLE_NAME IN ({names})"""


MYSQL_QUERIES = SchemaQueries(
    schemata=f"""
        SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME
        FROM INFORMATION_SCHEMA.SCHEMATA WHERE SCHEMA_NAME NOT IN {_SYSTEM} ORDER BY SCHEMA_NAME""",
    table_counts=f"""
        SELECT t.TABLE_SCHEMA, COUNT(*) FROM INFORMATION_SCHEMA.TABLES AS t
        WHERE {_FOUND} GROUP BY t.TABLE_SCHEMA""",
    table_names=f"""
        SELECT t.TABLE_SCHEMA, t.TABLE_NAME AS name FROM INFORMATION_SCHEMA.TABLES AS t
        WHERE {_FOUND} AND LOWER(t.TABLE_NAME) LIKE LOWER(:like) ESCAPE '|'
        ORDER BY t.TABLE_NAME, t.TABLE_SCHEMA {_PAGE}""",
    # MariaDB opens each table of which it tells more than the name: only those of the page.
    tables=f"""
        SELECT t.TABLE_NAME, {_KIND}, t.ENGINE, t.TABLE_ROWS, t.DATA_LENGTH, t.INDEX_LENGTH, {_COMMENT}
        FROM INFORMATION_SCHEMA.TABLES AS t
        WHERE t.TABLE_SCHEMA = :database AND t.TABLE_NAME BETWEEN :first AND :last
        ORDER BY t.TABLE_NAME""",
    table=f"""
        SELECT t.TABLE_SCHEMA, t.TABLE_NAME, {_KIND}, t.ENGINE, t.ROW_FORMAT, t.TABLE_ROWS, t.AVG_ROW_LENGTH,
               t.DATA_LENGTH, t.MAX_DATA_LENGTH, t.INDEX_LENGTH, t.AUTO_INCREMENT, t.CREATE_TIME,
               t.UPDATE_TIME, {_COMMENT}
        FROM INFORMATION_SCHEMA.TABLES AS t WHERE {_HERE} AND t.TABLE_SCHEMA NOT IN {_SYSTEM}""",
    columns=f"""
        SELECT c.COLUMN_NAME, c.ORDINAL_POSITION, c.DATA_TYPE, c.COLUMN_TYPE, c.IS_NULLABLE, c.COLUMN_KEY,
               {_DEFAULT}, c.EXTRA, c.COLUMN_COMMENT, c.CHARACTER_SET_NAME, c.COLLATION_NAME
        FROM INFORMATION_SCHEMA.COLUMNS AS c
        WHERE c.TABLE_SCHEMA = :database AND c.TABLE_NAME = :table ORDER BY c.ORDINAL_POSITION""",
    indexes=f"""
        SELECT t.INDEX_NAME, t.NON_UNIQUE = 0, t.COLUMN_NAME, t.INDEX_TYPE, t.INDEX_COMMENT,
               t.INDEX_NAME = 'PRIMARY'
        FROM INFORMATION_SCHEMA.STATISTICS AS t WHERE {_HERE}
        ORDER BY t.INDEX_NAME <> 'PRIMARY', t.INDEX_NAME, t.SEQ_IN_INDEX""",
    # The names are said for both, and not joined: MariaDB opens every table of the server where it cannot
    # look one up by a name that is written out.
    foreign_keys=f"""
        SELECT t.CONSTRAINT_NAME, t.COLUMN_NAME, t.REFERENCED_TABLE_SCHEMA, t.REFERENCED_TABLE_NAME,
               t.REFERENCED_COLUMN_NAME, r.UPDATE_RULE, r.DELETE_RULE
        FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS t
        JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS r ON r.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        WHERE {_HERE} AND r.CONSTRAINT_SCHEMA = :database AND r.TABLE_NAME = :table
          AND t.REFERENCED_TABLE_NAME IS NOT NULL
        ORDER BY t.CONSTRAINT_NAME, t.ORDINAL_POSITION""",
    # Where MariaDB is not told in which table a key is, it opens all of them: first the tables are found.
    # InnoDB knows them without a look, but asks for PROCESS, and writes some letters of names in a code.
    referencing="""
        SELECT SUBSTRING_INDEX(f.FOR_NAME, '/', 1), SUBSTRING_INDEX(f.FOR_NAME, '/', -1)
        FROM INFORMATION_SCHEMA.INNODB_SYS_FOREIGN AS f WHERE f.REF_NAME = CONCAT(:database, '/', :table)""",
    references="""
        SELECT DISTINCT r.CONSTRAINT_SCHEMA, r.TABLE_NAME, r.UNIQUE_CONSTRAINT_SCHEMA, r.REFERENCED_TABLE_NAME
        FROM INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS r
        ORDER BY r.CONSTRAINT_SCHEMA, r.TABLE_NAME""",
    referenced_by="""
        SELECT t.CONSTRAINT_NAME, t.REFERENCED_COLUMN_NAME, t.TABLE_SCHEMA, t.TABLE_NAME, t.COLUMN_NAME,
               r.UPDATE_RULE, r.DELETE_RULE
        FROM INFORMATION_SCHEMA.KEY_COLUMN_USAGE AS t
        JOIN INFORMATION_SCHEMA.REFERENTIAL_CONSTRAINTS AS r ON r.CONSTRAINT_NAME = t.CONSTRAINT_NAME
        WHERE t.TABLE_SCHEMA = :from_database AND t.TABLE_NAME = :from_table
          AND r.CONSTRAINT_SCHEMA = :from_database AND r.TABLE_NAME = :from_table
          AND t.REFERENCED_TABLE_SCHEMA = :database AND t.REFERENCED_TABLE_NAME = :table
        ORDER BY t.CONSTRAINT_NAME, t.ORDINAL_POSITION""",
    find_names=f"""
        SELECT t.TABLE_SCHEMA, t.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES AS t
        WHERE {_FOUND} AND LOWER(t.TABLE_NAME) LIKE LOWER(:like) ESCAPE '|'
        ORDER BY t.TABLE_SCHEMA, t.TABLE_NAME {_PAGE}""",
    named_tables=_named_tables,
    find_columns=f"""
        SELECT t.TABLE_SCHEMA, t.TABLE_NAME, t.COLUMN_NAME, t.COLUMN_TYPE, t.IS_NULLABLE, t.COLUMN_COMMENT
        FROM INFORMATION_SCHEMA.COLUMNS AS t
        WHERE {_FOUND} AND LOWER(t.COLUMN_NAME) LIKE LOWER(:like) ESCAPE '|'
        ORDER BY t.TABLE_SCHEMA, t.TABLE_NAME, t.ORDINAL_POSITION {_PAGE}""",
)
