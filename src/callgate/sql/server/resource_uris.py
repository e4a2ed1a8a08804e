"""The addresses of a source's resources: all databases, one database, one table.

    mysql://databases      mysql://{database}      mysql://{database}/{table}

A database with very many tables is read in pages: mysql://{database}?offset=2000.

Owns the scheme (`mysql`, or `mysql+<source>` when the gateway has several sources of the kind) and the
percent-encoding of names. Pure. Counterpart: `resources` answers for them.
"""

import re
from dataclasses import dataclass
from urllib.parse import quote, unquote

_LIST = "databases"
_OFFSET = "?offset="
_NUMBER = re.compile(r"[0-9]{1,7}")


@dataclass(frozen=True, slots=True)
class ResourceTarget:
    """What an address means: all databases, one (its tables from `offset` on), or one table."""

    database: str | None = None
    table: str | None = None
    offset: int = 0


@dataclass(frozen=True, slots=True)
class ResourceUris:
    engine: str
    source_id: str
    has_siblings: bool = False  # other sources of the same engine: the plain scheme would not say which

    @property
    def scheme(self) -> str:
        # RFC 3986 knows no underscore in a scheme, and ids have no dot.
        return f"{self.engine}+{self.source_id.replace('_', '.')}" if self.has_siblings else self.engine

    @property
    def schemes(self) -> frozenset[str]:
        """All that `read` understands."""
        return frozenset({self.engine, f"{self.engine}+{self.source_id.replace('_', '.')}"})

    @property
    def all_databases(self) -> str:
        return f"{self.scheme}://{_LIST}"

    @property
    def database_template(self) -> str:
        return f"{self.scheme}://{{database}}"

    @property
    def table_template(self) -> str:
        return f"{self.scheme}://{{database}}/{{table}}"

    def of_database(self, name: str, offset: int = 0) -> str:
        page = f"{_OFFSET}{offset}" if offset else ""
        encoded = quote(name, safe="")
        # A database of that very name is written so that it cannot be taken for the list.
        return f"{self.scheme}://{f'%{ord(_LIST[0]):X}{_LIST[1:]}' if encoded == _LIST else encoded}{page}"

    def of_table(self, database: str, table: str) -> str:
        return f"{self.of_database(database)}/{quote(table, safe='')}"

    def read(self, uri: str) -> ResourceTarget | None:
        """None when it is no address of this source's. Both forms of the scheme are understood."""
        scheme, separator, path = uri.partition("://")
        if not separator or scheme.lower() not in self.schemes:
            return None
        path, _, number = path.partition(_OFFSET)
        if number and not _NUMBER.fullmatch(number):
            return None
        segments = path.removesuffix("/").split("/")
        if segments == [_LIST] and not number:
            return ResourceTarget()
        try:
            names = [unquote(segment, errors="strict") for segment in segments]
        except UnicodeDecodeError:
            return None
        if not all(names) or not 1 <= len(names) <= (1 if number else 2):
            return None
        return ResourceTarget(*names, offset=int(number or 0))
