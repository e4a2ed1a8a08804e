"""`[mcpServers.<name>]`: an MCP server behind us, in the words other clients' files use.

Either `url` or `command`: which keys go together is checked over the raw table by `check_mcp_server`, so
that such a mistake is reported beside the others.
"""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, PlainSerializer, SecretStr, field_serializer

from callgate.config.field_types import FilePath, Seconds
from callgate.config.refusal import refusal
from callgate.config.secret import Secret, mask_args, mask_named, mask_url
from callgate.config.spec import Spec

TransportName = Literal["http", "streamable-http", "streamableHttp", "sse", "stdio"]
TransportKind = Literal["stdio", "http", "sse"]


def _check_url(url: str) -> str:
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise refusal("an http:// or https:// address is expected")
    return url


class McpServerSpec(Spec):
    # repr=False where a secret can hide: keys in the query of an address, tokens among arguments.
    url: Annotated[str, AfterValidator(_check_url), PlainSerializer(mask_url, return_type=str)] | None = (
        Field(default=None, repr=False, description="Address of a server that speaks MCP over HTTP.")
    )
    headers: Mapping[str, SecretStr] = Field(
        default_factory=dict[str, SecretStr], description="HTTP headers sent with every request."
    )
    command: str | None = Field(default=None, min_length=1, description="Program of a local server.")
    args: Annotated[tuple[str, ...], PlainSerializer(mask_args, return_type=list[str])] = Field(
        default=(), repr=False, description="Arguments of the program."
    )
    env: Mapping[str, Secret] = Field(
        default_factory=dict[str, Secret], description="Environment variables of the program."
    )
    cwd: FilePath | None = Field(default=None, description="Folder in which the program starts.")
    type_name: TransportName | None = Field(
        default=None, alias="type", description="The transport; guessed from url or command if unset."
    )
    transport: TransportName | None = Field(default=None, description="Another spelling of type.")
    disabled: bool = Field(default=False, description="Keep the entry, but leave the server out.")
    timeout_s: Seconds = Field(default=30.0, description="Seconds to wait for an answer.")
    isolation: Literal["auto", "shared", "session"] = Field(
        default="auto", description="One connection for all sessions, one for each, or what suits the server."
    )

    @property
    def kind(self) -> TransportKind:
        if self.command is not None:
            return "stdio"
        return "sse" if "sse" in (self.type_name, self.transport) else "http"

    @field_serializer("headers")
    def _show_headers(self, headers: Mapping[str, SecretStr]) -> dict[str, str]:
        return {name: mask_named(name, value.get_secret_value()) for name, value in headers.items()}
