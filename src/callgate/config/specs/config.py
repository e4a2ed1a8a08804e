"""The whole configuration as one frozen value, and every spec by its name: import specs from here.

Owns the shape only. How a file becomes it: `load`. What no single table can say about it: `cross_check`.
"""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from callgate.config.reading.markers import ReadBy, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.specs.field_types import EntryName, ParamName, ToolName
from callgate.config.specs.mcp_server import McpServerSpec, TransportKind
from callgate.config.specs.otel import OtelSpec
from callgate.config.specs.principals import PrincipalSpec
from callgate.config.specs.record import PolicySpec, RecordSpec
from callgate.config.specs.record_store import StoreAddressSpec
from callgate.config.specs.replicas import ReplicasSpec
from callgate.config.specs.server import ServerSpec, TokenSpec
from callgate.config.specs.source import SourceFromEnvironment, SourceSpec
from callgate.config.specs.spec import Spec

__all__ = [
    "Config",
    "McpServerSpec",
    "OtelSpec",
    "ParamType",
    "PolicySpec",
    "PrincipalSpec",
    "RecordSpec",
    "ReplicasSpec",
    "ServerSpec",
    "SourceFromEnvironment",
    "SourceSpec",
    "Spec",
    "TokenSpec",
    "ToolParamSpec",
    "ToolSpec",
    "TransportKind",
]


# `[[tools]]`: the operator's own parameterised queries. The SQL itself is judged by `sql`.
ParamType = Literal["string", "integer", "number", "boolean"]


def _read_default(value: Any) -> bool | int | float | str | None:
    if value is not None and not isinstance(value, (bool, int, float, str)):
        raise refusal("a string, a number, true or false is expected")
    return value


ParamDefault = Annotated[
    bool | int | float | str | None,
    ReadBy(_read_default, {"type": ["string", "integer", "number", "boolean"]}),
]


class ToolParamSpec(Spec):
    type: ParamType = spec_key(description="The JSON type of the argument.")
    description: str | None = spec_key(default=None, description="What the argument means, for the model.")
    default: ParamDefault = spec_key(default=None, description="The value when the caller gives none.")
    required: bool | None = spec_key(
        default=None, description="Whether the caller must give it; unset: yes, unless there is a default."
    )

    @property
    def is_required(self) -> bool:
        return self.default is None if self.required is None else self.required


class ToolSpec(Spec):
    name: ToolName = spec_key(description="The tool's name within its source.")
    source: str = spec_key(description="The id of the source it runs on.")
    sql: str = spec_key(min_length=1, description="The statement, with :name where a parameter goes.")
    description: str | None = spec_key(default=None, description="What the tool is for, for the model.")
    params: Mapping[ParamName, ToolParamSpec] = spec_key(
        default_factory=dict[ParamName, ToolParamSpec], description="The parameters by name."
    )


# Longer than two checks of a usual balancer.
_DRAIN_OF_REPLICAS_S = 15.0


class Config(Spec):
    version: Literal[1] = spec_key(default=1, description="The version of this format.")
    server: ServerSpec = spec_key(default_factory=ServerSpec, description="Our own listener.")
    sources: tuple[SourceSpec, ...] = spec_key(default=(), description="Databases.")
    tools: tuple[ToolSpec, ...] = spec_key(default=(), description="Your own parameterised queries.")
    mcp_servers: Mapping[EntryName, McpServerSpec] = spec_key(
        default_factory=dict[EntryName, McpServerSpec],
        alias="mcpServers",
        description="MCP servers behind us, by name, in the words of other clients' files.",
    )
    principals: Mapping[str, PrincipalSpec] = spec_key(
        default_factory=dict[str, PrincipalSpec], description="Who may call, by name, and what else they may."
    )
    record: RecordSpec = spec_key(default_factory=RecordSpec, description="What is kept of the calls.")
    policy: PolicySpec = spec_key(default_factory=PolicySpec, description="Which calls are let through.")
    otel: OtelSpec = spec_key(default_factory=OtelSpec, description="Traces and metrics for a collector.")
    replicas: ReplicasSpec = spec_key(
        default_factory=ReplicasSpec, description="Several gateways that are one to their clients."
    )

    @property
    def store(self) -> StoreAddressSpec:
        """Where the record is kept: `postgres` alone is the database of the replicas."""
        store = self.record.store
        return self.replicas.database or store if store.is_of_replicas else store

    @property
    def drain_s(self) -> float:
        """How long we serve on after SIGTERM. In front of replicas is a balancer, which needs time."""
        if self.server.drain_s is not None:
            return self.server.drain_s
        return _DRAIN_OF_REPLICAS_S if self.replicas.is_on else 0.0

    @property
    def is_empty(self) -> bool:
        """Nothing to stand in front of: the demo is served."""
        return not self.sources and not self.mcp_servers
