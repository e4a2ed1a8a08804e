"""Whether there is a DuckDB database at a path, or data that DuckDB reads as a table; what to do when not."""

import re
from pathlib import Path

from callgate.model.data_files import reader_of
from callgate.model.errors import SourceError
from callgate.model.wording import clip
from callgate.sql.drivers.workers.database_file import read_header, unavailable

MEMORY_PATH = ":memory:"
_MAGIC = b"DUCK"
_MAGIC_AT = 8  # behind a checksum
_PARQUET_MAGIC = b"PAR1"
# DuckDB takes a path with these for many files.
_GLOB = re.compile(r"[*?\[\]{}]")
_MOST_TOLD_CHARS = 300
_HOLDER = re.compile(r"\(PID (\d+)\)")


def check_file(path: Path) -> None:
    """Raises `SourceError` with the operator's next step when there is no such database file."""
    if str(path) == MEMORY_PATH:
        return
    reader = reader_of(str(path))
    if reader is not None:
        if _GLOB.search(str(path)):
            raise unavailable(
                f"the path {path} has one of * ? [ ] {{ }} in it.", "Rename the file or its folder."
            )
        header = read_header(path, len(_PARQUET_MAGIC))
        if reader == "read_parquet" and header != _PARQUET_MAGIC:
            raise unavailable(
                f"the file {path} is not a Parquet file.", "It may be cut off, or of another kind."
            )
        return
    header = read_header(path, _MAGIC_AT + len(_MAGIC))
    if header[_MAGIC_AT:] != _MAGIC:
        raise unavailable(f"the file {path} is not a DuckDB database.", "It may be corrupt or encrypted.")


def explain_opening(path: Path, message: str) -> SourceError:
    """DuckDB's own words on a file that it could not open."""
    if "Could not set lock" in message or "Conflicting lock" in message:
        holder = _HOLDER.search(message)
        by = f" (process {holder.group(1)})" if holder else ""
        return unavailable(
            f"the file {path} is in use by another process{by}, and DuckDB shares it with readers only.",
            "End or disconnect the program that has it open for writing, then ask again.",
        )
    if "version" in message and ("storage" in message or "newer" in message):
        return unavailable(
            f"the file {path} was written by another version of DuckDB.", "Export and import it, or upgrade."
        )
    # A line that it quotes is left out: this is told to people who may not read the data.
    lines = message.partition("\n\n")[0].splitlines()
    said = " ".join(line for line in lines if not line.startswith("Original Line:"))
    first = clip(" ".join(said.split()), _MOST_TOLD_CHARS)
    return unavailable(f"the file {path} cannot be opened ({first}).", "It may be corrupt or locked.")
