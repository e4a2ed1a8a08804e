"""`completion/complete` for `{database}` and `{table}` in the templates of a source's resources.

Counterpart: `resources` lists those templates.
"""

from typing import Any

import msgspec

from callgate.model import error_codes as codes
from callgate.model.errors import CallerError
from callgate.sql.schema.like import like_exactly
from callgate.sql.schema.reader import SchemaReader
from callgate.sql.server.resource_uris import ResourceUris

# The specification's own limit (2025-11-25, completion, "values").
_MAX_COMPLETIONS = 100


class _Reference(msgspec.Struct):
    type: str
    uri: str = ""


class _Argument(msgspec.Struct):
    name: str
    value: str


class _Context(msgspec.Struct):
    arguments: dict[str, str] = msgspec.field(default_factory=dict[str, str])


class _CompleteParams(msgspec.Struct):
    ref: _Reference
    argument: _Argument
    context: _Context | None = None


_params_decoder = msgspec.json.Decoder(_CompleteParams)


async def complete(raw: bytes, uris: ResourceUris, schema_reader: SchemaReader) -> bytes:
    try:
        params = _params_decoder.decode(raw or b"{}")
    except msgspec.DecodeError as error:
        raise CallerError(
            codes.CALLER_BAD_PARAMS, f"completion/complete needs a ref and an argument: {error}"
        ) from None
    known = (uris.database_template, uris.table_template)
    if params.ref.type != "ref/resource" or params.ref.uri not in known:
        raise CallerError(
            codes.CALLER_UNKNOWN_RESOURCE,
            f"Unknown reference: {params.ref.uri[:200]}",
            hint=f"Templates: {' and '.join(known)}",
        )
    given = params.context.arguments if params.context else {}
    begun = params.argument.value
    names = await _candidates(params.argument.name, begun, given.get("database", ""), schema_reader)
    values = [name for name in names if name.casefold().startswith(begun.casefold())]
    completion: dict[str, Any] = {
        "values": values[:_MAX_COMPLETIONS],
        "total": len(values),
        "hasMore": len(values) > _MAX_COMPLETIONS,
    }
    return msgspec.json.encode({"completion": completion})


async def _candidates(
    argument: str, begun: str, database: str, schema_reader: SchemaReader
) -> tuple[str, ...]:
    if argument == "database":
        return await schema_reader.database_names()
    if argument != "table":
        return ()
    return await schema_reader.table_names(database, f"{like_exactly(begun)}%")
