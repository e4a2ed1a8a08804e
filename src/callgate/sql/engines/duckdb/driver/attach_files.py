"""AttachedFiles: several database files read as one, in the child process.

What stays attached from job to job stays loaded: DuckDB takes 250 ms to find its way around a million rows
that it sees for the first time. Only for a child that runs one job at a time: a file must not go while
another job reads it.
"""

import duckdb

from callgate.sql.engines.duckdb.frames import Attached


class AttachedFiles:
    def __init__(self) -> None:
        self._files: dict[str, str] = {}
        self._views: tuple[str, ...] = ()

    def become(self, wanted: Attached, database: duckdb.DuckDBPyConnection) -> None:
        """Raises duckdb.Error; what could be attached until then stays so."""
        for name in [name for name, path in self._files.items() if wanted.files.get(name) != path]:
            database.execute(f"DETACH {name}")
            del self._files[name]
        for name, path in wanted.files.items():
            if name not in self._files:
                spelled = path.replace("'", "''")
                database.execute(f"ATTACH '{spelled}' AS {name} (READ_ONLY)")
                self._files[name] = path
        if wanted.views != self._views:
            self._views = ()
            for statement in wanted.views:
                database.execute(statement)
            self._views = wanted.views
