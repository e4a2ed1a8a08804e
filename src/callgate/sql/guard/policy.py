"""Policy: one frozen object behind verdict, annotations, description and engine session.

Because all four are read from here, they cannot disagree. Pure; made from `SourceSettings` and a `Dialect`.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import lru_cache

from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.tokens import fold
from callgate.sql.settings import Mode, SourceSettings

MAX_QUERY_CHARS = 10_000  # the tool's contract, in its input schema
MAX_STATEMENTS = 10  # a call is a question or a small script, not a dump to be loaded
# sqlglot's recursive descent takes up to 22 Python frames a level and the interpreter stops at 1,000
# (measured: 40 levels of parentheses pass, 50 do not, on an empty stack). 30 leaves a third to our callers.
MAX_NESTING = 30


@dataclass(frozen=True, slots=True)
class Limits:
    timeout_s: float = 30.0
    max_rows: int = 1000
    character_limit: int = 25_000
    # One cell may not fill the whole reply, and 8 KB show what a text or blob is about.
    cell_bytes: int = 8_192


@dataclass(frozen=True, slots=True)
class Policy:
    dialect: Dialect
    mode: Mode = Mode.READ_ONLY
    allow_ddl: bool = False
    allow_functions: frozenset[str] = frozenset()
    # Types of the database, by name, to which a cast runs nobody's code (`SchemaReader.own_types`).
    own_types: frozenset[str] = frozenset()
    require_qualified: bool = False
    only_tables: frozenset[str] = frozenset()  # nothing else may be read; empty: any table
    schema: str | None = None
    from_environment: bool = False
    about: str = ""
    is_fixed: bool = False
    limits: Limits = field(default_factory=Limits)

    @property
    def may_write(self) -> bool:
        return self.mode is Mode.WRITE

    @property
    def may_define(self) -> bool:
        return self.may_write and self.allow_ddl

    @property
    def functions(self) -> frozenset[str]:
        return _functions(self.dialect, self.allow_functions, may_write=self.may_write)

    @property
    def write_advice(self) -> str:
        if self.is_fixed:
            return "It is only ever read."
        if self.from_environment and (variable := self.dialect.wording.write_variable) is not None:
            return f"Set {variable}=true to enable write operations."
        if self.from_environment:
            return 'Describe this source in callgate.toml with mode = "write" to enable write operations.'
        return 'Set mode = "write" for this source in callgate.toml to enable write operations.'

    def note_on(self, tables: Iterable[str]) -> str:
        """What a reader of these tables should know, or the empty string."""
        return self.dialect.wording.note_on(tables, self.schema)

    @property
    def table_list(self) -> str:
        """Where the engine lists its tables."""
        return self.dialect.wording.table_list(self.schema)


@lru_cache(maxsize=64)  # asked for at every parenthesis
def _functions(dialect: Dialect, added: frozenset[str], *, may_write: bool) -> frozenset[str]:
    vocabulary = dialect.vocabulary
    allowed = vocabulary.functions | (added - vocabulary.forbidden_functions)
    return allowed | vocabulary.write_functions if may_write else allowed


def policy_of(settings: SourceSettings, dialect: Dialect) -> Policy:
    return Policy(
        dialect=dialect,
        mode=settings.mode,
        allow_ddl=settings.allow_ddl,
        allow_functions=frozenset(fold(name) for name in settings.allow_functions),
        require_qualified=settings.require_qualified,
        schema=settings.schema,
        from_environment=settings.from_environment,
        about=settings.about,
        is_fixed=settings.is_fixed,
        limits=Limits(
            timeout_s=settings.timeout_s,
            max_rows=settings.max_rows,
            character_limit=settings.character_limit,
        ),
    )


def quote_name(name: str) -> str:
    """As SQL wants it; plain names stay plain, for people."""
    return name if name.isidentifier() and name.isascii() else '"' + name.replace('"', '""') + '"'
