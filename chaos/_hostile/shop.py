"""A small honest database for a gateway under attack."""

import sqlite3
from contextlib import closing
from pathlib import Path


def shop(folder: Path) -> str:
    """Makes it in that folder; what the configuration says of it."""
    with closing(sqlite3.connect(folder / "shop.db")) as database, database:
        database.execute("CREATE TABLE orders (id INTEGER)")
    return '[[sources]]\nid = "shop"\ndsn = "sqlite:///shop.db"\n'
