"""`[mcpServers.<name>]`: an MCP server behind us, in the words other clients' files use.

Either `url` or `command`: which keys go together is checked over the raw table by `cross_check`, so
that such a mistake is reported beside the others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import AfterValidator, BeforeValidator, Field, SerializationInfo, field_serializer

from callgate.config.refusal import refusal
from callgate.config.secret import Secret, mask_args, mask_url
from callgate.config.specs.field_types import WORKSPACE, FilePath, Pattern, Seconds
from callgate.config.specs.spec import Spec
from callgate.model.trust import TrustMode

TransportName = Literal["http", "streamable-http", "streamableHttp", "sse", "stdio"]
TransportKind = Literal["stdio", "http", "sse"]


def _check_url(url: str) -> str:
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise refusal("an http:// or https:// address is expected")
    return url


class ServerToolsSpec(Spec):
    """`tools` of one server: which of them are offered, and for how long each may run."""

    leave_out: tuple[str, ...] = Field(
        default=(), description="Tools that are neither listed nor called; * stands for anything."
    )
    only: tuple[str, ...] = Field(
        default=(), description="The only tools that are listed and called; all if empty."
    )
    timeout_s: Mapping[str, Seconds] = Field(
        default_factory=dict[str, Seconds], description="Seconds for a call of each of these tools."
    )


class SandboxSpec(Spec):
    """`sandbox` of one server: what its program may reach beside the system and a folder of its own."""

    reads: tuple[FilePath, ...] = Field(default=(), description="Files and folders that it may read.")
    writes: tuple[FilePath, ...] = Field(
        default=(), description="Files and folders that it may read, change, make and remove."
    )
    network: bool = Field(default=True, description="false: no internet sockets at all.")


def _read_sandbox(value: Any) -> Any:
    if isinstance(value, bool):
        return SandboxSpec() if value else None
    if not isinstance(value, (dict, SandboxSpec)):
        raise refusal("true, false or a table is expected", 'Write { writes = ["…"], network = false }.')
    return cast("Any", value)


def _also_boolean(schema: dict[str, Any]) -> None:
    schema["anyOf"] = [{"type": "boolean"}, *(one for one in schema["anyOf"] if one != {"type": "null"})]
    schema["default"] = False


class McpServerSpec(Spec):
    title: str | None = Field(
        default=None, description="What it is called for people; the name of the entry if unset."
    )
    # repr=False where a secret can hide: keys in the query of an address, tokens among arguments, and in
    # whatever a variable filled in.
    url: Annotated[str, AfterValidator(_check_url)] | None = Field(
        default=None, repr=False, description="Address of a server that speaks MCP over HTTP."
    )
    headers: Mapping[str, Secret] = Field(
        default_factory=dict[str, Secret], description="HTTP headers sent with every request."
    )
    # json_schema_extra: what pydantic no longer finds out by itself behind a serializer of ours.
    command: str | None = Field(
        default=None,
        min_length=1,
        repr=False,
        description="Program of a local server.",
        json_schema_extra={"minLength": 1},
    )
    args: tuple[str, ...] = Field(
        default=(), repr=False, description="Arguments of the program.", json_schema_extra={"default": []}
    )
    env: Mapping[str, Secret] = Field(
        default_factory=dict[str, Secret], description="Environment variables of the program."
    )
    cwd: FilePath | None = Field(
        default=None,
        repr=False,
        description='Folder in which the program starts; "@workspace": the client\'s own.',
    )
    sandbox: Annotated[SandboxSpec | None, BeforeValidator(_read_sandbox)] = Field(
        default=None,
        description="Confine the program (Linux): true, or what it may read and write beside its own folder.",
        json_schema_extra=_also_boolean,
    )
    type_name: TransportName | None = Field(
        default=None, alias="type", description="The transport; guessed from url or command if unset."
    )
    transport: TransportName | None = Field(default=None, description="Another spelling of type.")
    disabled: bool = Field(default=False, description="Keep the entry, but leave the server out.")
    timeout_s: Seconds | None = Field(
        default=None,
        description="Seconds to wait for an answer; unset: 300 for a tool call, 30 for anything else.",
    )
    tools: ServerToolsSpec = Field(
        default_factory=ServerToolsSpec, description="Which of its tools are offered, and their time limits."
    )
    start_timeout_s: Seconds | None = Field(
        default=None,
        description="Seconds until it has answered initialize: 120 for a program, 10 for a url if unset.",
    )
    isolation: Literal["auto", "shared", "session"] = Field(
        default="auto", description="One connection for all sessions, one for each, or what suits the server."
    )
    affinity: Literal["session", "none"] = Field(
        default="session",
        description="With replicas: one serves all calls of a session to it; none: any of them will do.",
    )
    trust: TrustMode = Field(
        default="watch",
        description="Changed tools: told and scanned (watch), held until accepted, or not looked at (free).",
    )
    redact_keys: tuple[str, ...] = Field(
        default=(), description="Keys whose values are not recorded of this server, beside [record]'s."
    )
    redact_patterns: tuple[Pattern, ...] = Field(
        default=(), description="Regular expressions; what they match is never recorded of this server."
    )

    @property
    def start_limit_s(self) -> float:
        """A program may have to be downloaded first; a server at an address is there or not."""
        return self.start_timeout_s or (120.0 if self.command is not None else 10.0)

    @property
    def in_workspace(self) -> bool:
        return self.cwd is not None and str(self.cwd) == WORKSPACE

    @property
    def kind(self) -> TransportKind:
        if self.command is not None:
            return "stdio"
        return "sse" if "sse" in (self.type_name, self.transport) else "http"

    @field_serializer("url")
    def _show_url(self, url: str | None, info: SerializationInfo) -> str | None:
        return mask_url(self.as_written(info, "url") or url) if url is not None else None

    @field_serializer("command")
    def _show_command(self, command: str | None, info: SerializationInfo) -> str | None:
        return self.as_written(info, "command") or command

    @field_serializer("args")
    def _show_args(self, args: tuple[str, ...], info: SerializationInfo) -> list[str]:
        return mask_args([self.as_written(info, "args", at) or arg for at, arg in enumerate(args)])

    @field_serializer("cwd")
    def _show_cwd(self, cwd: Path | None, info: SerializationInfo) -> str | None:
        return self.as_written(info, "cwd") or (str(cwd) if cwd is not None else None)
