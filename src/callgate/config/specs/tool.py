"""`[[tools]]`: the operator's own parameterised queries. The SQL itself is judged by `sql`."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, PlainValidator, WithJsonSchema

from callgate.config.refusal import refusal
from callgate.config.specs.field_types import ParamName, ToolName
from callgate.config.specs.spec import Spec

ParamType = Literal["string", "integer", "number", "boolean"]


def _read_default(value: Any) -> bool | int | float | str | None:
    # One rule instead of a pydantic union, which would report one mistake four times.
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise refusal("a string, a number, true or false is expected")
    return value


ParamDefault = Annotated[
    bool | int | float | str | None,
    PlainValidator(_read_default),
    WithJsonSchema({"type": ["string", "integer", "number", "boolean"]}),
]


class ToolParamSpec(Spec):
    type: ParamType = Field(description="The JSON type of the argument.")
    description: str | None = Field(default=None, description="What the argument means, for the model.")
    default: ParamDefault = Field(default=None, description="The value when the caller gives none.")
    required: bool | None = Field(
        default=None, description="Whether the caller must give it; unset: yes, unless there is a default."
    )

    @property
    def is_required(self) -> bool:
        return self.default is None if self.required is None else self.required


class ToolSpec(Spec):
    name: ToolName = Field(description="The tool's name within its source.")
    source: str = Field(description="The id of the source it runs on.")
    sql: str = Field(min_length=1, description="The statement, with :name where a parameter goes.")
    description: str | None = Field(default=None, description="What the tool is for, for the model.")
    params: Mapping[ParamName, ToolParamSpec] = Field(
        default_factory=dict[ParamName, ToolParamSpec], description="The parameters by name."
    )
