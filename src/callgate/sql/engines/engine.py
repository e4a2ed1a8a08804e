"""Engine: what the product knows of one kind of database, as one value.

Each engine's folder has its value in `engine.py`. A new engine is such a folder and its name in `ENGINES`;
everything else asks the value. How its address is written belongs to `config` (`specs.dsn`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module

from callgate.sql.drivers.driver import Driver
from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.policy import Policy
from callgate.sql.schema.queries import SchemaQueries
from callgate.sql.settings import SourceSettings

# The name in a DSN, and the module with the value. Imported one by one: with one engine, no other is loaded.
ENGINES = {name: f"callgate.sql.engines.{name}.engine" for name in ("mysql", "postgres", "sqlite", "duckdb")}
ALIASES = {"mariadb": "mysql", "postgresql": "postgres", "pg": "postgres", "sqlite3": "sqlite"}


@dataclass(frozen=True, slots=True)
class Engine:
    dialect: Dialect  # its SQL and the words for it
    schema_queries: Callable[[Policy], SchemaQueries]
    # Imports the driver: `callgate guard` judges without one. A driver of a server begins to connect in the
    # background, and needs a running loop.
    open_driver: Callable[[SourceSettings, Policy], Driver]


def find_engine(name: str) -> Engine | None:
    """By its name or an alias, in any case; None when there is no such engine."""
    folded = name.strip().lower()
    module = ENGINES.get(ALIASES.get(folded, folded))
    return import_module(module).ENGINE if module is not None else None
