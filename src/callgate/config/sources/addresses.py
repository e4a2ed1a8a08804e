"""Sources that the command line names: `callgate postgres://… shop.db orders.parquet`.

Owns what such an argument means and what its source is called. A database file is recognised by how it
begins, data by its suffix. No sentence made here repeats an address: there may be a password in it.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from callgate.config.problem import ConfigProblem, shown
from callgate.config.sources.entry_ids import entry_ids
from callgate.config.specs.dsn import Dsn, DsnError, EngineName, parse_dsn
from callgate.config.specs.server_params import read_server_params
from callgate.config.specs.source import SourceSpec
from callgate.model.data_files import SUFFIXES, reader_of

_DATABASE_SUFFIXES = (".db", ".db3", ".sqlite", ".sqlite3", ".duckdb", ".ddb")
_SQLITE_MAGIC = b"SQLite format 3\x00"
_DUCKDB_MAGIC = b"DUCK"
_DUCKDB_MAGIC_AT = 8  # behind a checksum
_FILES = f"SQLite and DuckDB databases, and {', '.join(SUFFIXES)} files, can be served."


@dataclass(slots=True)
class NamedSources:
    specs: list[SourceSpec] = field(default_factory=list[SourceSpec])
    problems: list[ConfigProblem] = field(default_factory=list[ConfigProblem])
    warnings: list[ConfigProblem] = field(default_factory=list[ConfigProblem])


def looks_like_address(text: str) -> bool:
    """Whether an argument in a command's place is meant as a database instead."""
    suffix = Path(text).suffix.lower()
    return "://" in text or text.startswith("jdbc:") or suffix in (*_DATABASE_SUFFIXES, *SUFFIXES)


def sources_named(addresses: Sequence[str], taken: Collection[str]) -> NamedSources:
    """`taken`: ids that a file has given already."""
    found = NamedSources()
    dsns: dict[str, Dsn] = {}  # by a name that no other has
    for number, text in enumerate(addresses, 1):
        place = f"argument {number}"
        try:
            dsn = _read(text)
        except DsnError as error:
            found.problems.append(error.at(place))
            continue
        if dsn.password is not None:
            text = "other users of this machine can see the password of this address in the list of processes"
            hint = "Leave it out (PGPASSWORD, ~/.pgpass and ~/.my.cnf are read), or write a callgate.toml."
            found.warnings.append(ConfigProblem(place, text, hint))
        name = _name_of(dsn)
        dsns[name if name not in {*dsns, *taken} else f"{name}-{number}"] = dsn
    found.specs += [SourceSpec(id=made, dsn=dsns[name]) for name, made in entry_ids(dsns, taken).items()]
    return found


def _read(text: str) -> Dsn:
    if "://" not in text and not text.startswith("jdbc:"):
        return _file(Path(text))
    dsn = parse_dsn(text).anchored_at(Path.cwd())
    if dsn.path is None:
        read_server_params(dsn)
    return dsn


def _file(path: Path) -> Dsn:
    absolute = Path.cwd() / path.expanduser()
    try:
        if absolute.exists() and not (absolute.is_file() or absolute.is_dir()):
            raise DsnError("it is a pipe or a device, not a file", "Write its content into a file.")
        with absolute.open("rb") as file:
            header = file.read(len(_SQLITE_MAGIC))
    except OSError as error:
        quoted = shown(path.name, otherwise="the file")
        raise DsnError(f"{quoted} cannot be read: {error.strerror}", "Check its path.") from None
    if header == _SQLITE_MAGIC:
        return Dsn(EngineName.SQLITE, "sqlite", path=str(absolute))
    if header[_DUCKDB_MAGIC_AT:].startswith(_DUCKDB_MAGIC) or reader_of(str(absolute)) is not None:
        return Dsn(EngineName.DUCKDB, "duckdb", path=str(absolute))
    raise DsnError("the file is not one that can be served", _FILES)


def _name_of(dsn: Dsn) -> str:
    """What people call it: the database, or the file."""
    return (Path(dsn.path).stem if dsn.path is not None else dsn.database) or dsn.engine.value
