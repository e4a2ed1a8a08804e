"""Files that are served as one table: DuckDB reads them, each kind by one of its functions."""

from pathlib import PurePath

_READERS = {
    ".parquet": "read_parquet",
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}
SUFFIXES = tuple(_READERS)


def reader_of(path: str) -> str | None:
    """DuckDB's function for the file. None: it is not such a file, by its name."""
    return _READERS.get(PurePath(path).suffix.lower())
