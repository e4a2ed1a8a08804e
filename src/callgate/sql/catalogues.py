"""Which engine answers the catalogue's questions how. Imported per engine: nobody pays for the others."""

from callgate.sql.catalogue.queries import CatalogueQueries
from callgate.sql.policy import Policy


def queries_for(policy: Policy) -> CatalogueQueries:
    match policy.dialect.name:
        case "mysql":
            from callgate.sql.mysql.catalogue import MYSQL_QUERIES

            return MYSQL_QUERIES
        case "postgres":
            from callgate.sql.postgres.catalogue import POSTGRES_QUERIES

            return POSTGRES_QUERIES
        case "duckdb":
            from callgate.sql.duckdb.catalogue import DUCKDB_QUERIES

            return DUCKDB_QUERIES
        case _:
            from callgate.sql.sqlite.catalogue import sqlite_queries

            return sqlite_queries(policy)
