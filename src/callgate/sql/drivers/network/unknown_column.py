"""An unknown column at a server: what the tables that it can be of have instead."""

from callgate.sql.drivers.near_columns import ReadTable, column_advice, tables_of_column
from callgate.sql.drivers.network.nearest import first_column
from callgate.sql.drivers.network.server import Ask
from callgate.sql.guard.judgement import Statement
from callgate.sql.guard.policy import Policy


async def advise_on_column(
    wanted: str, statement: Statement, policy: Policy, ask: Ask, query: str
) -> tuple[str, str | None]:
    """As `column_advice`. `query` lists columns; its parameters are a schema, or NULL, and a table."""
    found: list[tuple[ReadTable, list[str]]] = []
    for table in tables_of_column(wanted, statement, policy.dialect):
        schema, _, name = table.written.rpartition(".")
        found.append((table, first_column(await ask(query, (schema or None, name)))))
    return column_advice(wanted, found)
