"""`[[sources]]`: databases. Parses only; whether an engine can be spoken to is `sql`'s business."""

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, PlainValidator, SerializationInfo, WithJsonSchema, field_serializer

from callgate.config.refusal import refusal
from callgate.config.specs.dsn import Dsn, DsnError, mask_dsn, parse_dsn
from callgate.config.specs.field_types import Count, EntryName, Pattern, Seconds
from callgate.config.specs.server_params import read_server_params
from callgate.config.specs.spec import Spec


def _read_dsn(value: Any) -> Dsn:
    if not isinstance(value, (Dsn, str)):
        raise refusal("a string is expected")
    try:
        dsn = value if isinstance(value, Dsn) else parse_dsn(value)
        if dsn.path is None:
            read_server_params(dsn)
        return dsn  # noqa: TRY300 - what follows is reached by the error alone
    except DsnError as error:
        message, hint = error.message, error.hint
    raise refusal(message, hint)


class SourceSpec(Spec):
    # Says how the source came to be, not what it is: a file cannot set it.
    from_environment: ClassVar[bool] = False

    id: EntryName = Field(description="The source's name, unique among sources and MCP servers.")
    dsn: Annotated[
        Dsn,
        PlainValidator(_read_dsn),
        WithJsonSchema({"type": "string", "examples": ["mysql://me:${PASSWORD}@localhost/shop"]}),
    ] = Field(
        repr=False, description="mysql://, mariadb://, postgres://, postgresql://, sqlite:/// or duckdb:///"
    )
    mode: Literal["read_only", "write"] = Field(
        default="read_only", description="write also allows INSERT, UPDATE, DELETE, REPLACE, transactions."
    )
    timeout_s: Seconds = Field(default=30.0, description="Seconds after which a statement is stopped.")
    max_rows: Count = Field(default=1000, description="Most rows of one result.")
    character_limit: Count = Field(default=25000, description="Most characters of one result.")
    require_qualified: bool | None = Field(
        default=None, description="Refuse unqualified table names; unset: the engine's own default."
    )
    allow_ddl: bool = Field(
        default=False, description="In write mode also allow CREATE and ALTER, never DROP."
    )
    allow_functions: tuple[str, ...] = Field(
        default=(), description="Functions of your own that statements may call."
    )
    # 8: enough for parallel agents, far below any server's default limit on connections.
    pool_size: Count = Field(default=8, description="Most connections held open.")
    redact_keys: tuple[str, ...] = Field(
        default=(),
        description="Columns and keys whose values are not recorded of this source, beside [record]'s.",
    )
    redact_patterns: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions; what they match is never recorded of this source."
    )

    @field_serializer("dsn")
    def _show_dsn(self, dsn: Dsn, info: SerializationInfo) -> str:
        written = self.as_written(info, "dsn")
        return str(dsn) if written is None else mask_dsn(written)


class SourceFromEnvironment(SourceSpec):
    """Made from MYSQL_* or DATABASE_URL: named and advised about in the words of those variables."""

    from_environment: ClassVar[bool] = True
