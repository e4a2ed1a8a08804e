"""Which engine answers the catalogue's questions how. Imported per engine: nobody pays for the others."""

from callgate.sql.guard.policy import Policy
from callgate.sql.schema.queries import CatalogueQueries


def queries_for(policy: Policy) -> CatalogueQueries:
    match policy.dialect.name:
        case "mysql":
            from callgate.sql.engines.mysql.schema import MYSQL_QUERIES

            return MYSQL_QUERIES
        case "postgres":
            from callgate.sql.engines.postgres.schema import POSTGRES_QUERIES

            return POSTGRES_QUERIES
        case "duckdb":
            from callgate.sql.engines.duckdb.schema import DUCKDB_QUERIES

            return DUCKDB_QUERIES
        case _:
            from callgate.sql.engines.sqlite.schema import sqlite_queries

            return sqlite_queries(policy)
