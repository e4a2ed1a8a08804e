"""Names of tables that DuckDB would read from a file: `FROM 'sales.csv'`, even unquoted `FROM sales.csv`.

A table of that name in the database would win, but whether there is one the guard cannot know. Pure.
"""

import re
from collections.abc import Iterable

from callgate.sql.guard.dialect import Fault
from callgate.sql.guard.tokens import word_set

# Measured on 2.0: these endings are opened as files, with a compression's ending or a ?… behind them as well.
# The others are read by extensions, were they to be loaded.
ENDINGS = word_set(
    """
    csv tsv parquet json jsonl ndjson geojson db duckdb ddb sqlite sqlite3 xlsx avro shp gpkg fgb arrow arrows
    ipc feather orc txt parq vortex lance
    """
)
_FILE = re.compile(
    rf"\.(?:{'|'.join(sorted(ENDINGS))})(?:\.(?:gz|gzip|zst|zstd|bz2|xz))?(?:\?.*)?$", re.DOTALL
)
# No file and no address of a network can be named without one of these or an ending above.
_PATH_SIGNS = re.compile(r"[/\\:*?\[\]{}~]")


def is_file_name(name: str) -> bool:
    """`name`: all parts joined by dots, as DuckDB joins them."""
    return bool(_PATH_SIGNS.search(name)) or bool(_FILE.search(name.lower()))


def check_names(names: Iterable[str]) -> Fault | None:
    for name in names:
        if is_file_name(name):
            return Fault(
                "file",
                f"{name[:80]!r} names a file, and files are never read.",
                "Read the tables of this database; SHOW TABLES lists them.",
                is_forbidden=True,
            )
    return None
