"""The dialects by name, as people write them. Imported one by one: who asks for one pays for no other."""

from callgate.sql.guard.dialect import Dialect

ALIASES = {"mariadb": "mysql", "postgresql": "postgres", "pg": "postgres", "sqlite3": "sqlite"}
NAMES = ("mysql", "postgres", "sqlite", "duckdb")


def find_dialect(name: str) -> Dialect | None:
    """By its name or an alias, in any case; None when there is no such dialect."""
    folded = name.strip().lower()
    match ALIASES.get(folded, folded):
        case "mysql":
            from callgate.sql.engines.mysql.dialect.dialect import MYSQL

            return MYSQL
        case "postgres":
            from callgate.sql.engines.postgres.dialect.dialect import POSTGRES

            return POSTGRES
        case "sqlite":
            from callgate.sql.engines.sqlite.dialect.dialect import SQLITE

            return SQLITE
        case "duckdb":
            from callgate.sql.engines.duckdb.dialect.dialect import DUCKDB

            return DUCKDB
        case _:
            return None
