"""`[mcpServers.<name>]`: an MCP server behind us, in the words other clients' files use.

Either `url` or `command`: which keys go together is checked over the raw table by `cross_check`, so
that such a mistake is reported beside the others.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from callgate.config.reading.markers import After, Before, spec_key
from callgate.config.reading.mistakes import refusal
from callgate.config.secret import Secret, mask_args, mask_url
from callgate.config.specs.field_types import WORKSPACE, FilePath, Pattern, Seconds
from callgate.config.specs.spec import Spec, shows
from callgate.model.trust import TrustMode

TransportName = Literal["http", "streamable-http", "streamableHttp", "sse", "stdio"]
TransportKind = Literal["stdio", "http", "sse"]


def _check_url(url: str) -> str:
    if not url.startswith(("http://", "https://")) or any(c.isspace() for c in url):
        raise refusal("an http:// or https:// address is expected")
    return url


class ServerToolsSpec(Spec):
    """`tools` of one server: which of them are offered, and for how long each may run."""

    leave_out: tuple[str, ...] = spec_key(
        default=(), description="Tools that are neither listed nor called; * stands for anything."
    )
    only: tuple[str, ...] = spec_key(
        default=(), description="The only tools that are listed and called; all if empty."
    )
    timeout_s: Mapping[str, Seconds] = spec_key(
        default_factory=dict[str, Seconds], description="Seconds for a call of each of these tools."
    )


class SandboxSpec(Spec):
    """`sandbox` of one server: what its program may reach beside the system and a folder of its own."""

    reads: tuple[FilePath, ...] = spec_key(default=(), description="Files and folders that it may read.")
    writes: tuple[FilePath, ...] = spec_key(
        default=(), description="Files and folders that it may read, change, make and remove."
    )
    network: bool = spec_key(default=True, description="false: no internet sockets at all.")


def _read_sandbox(value: Any) -> Any:
    if isinstance(value, bool):
        return SandboxSpec() if value else None
    if not isinstance(value, (dict, SandboxSpec)):
        raise refusal("true, false or a table is expected", 'Write { writes = ["…"], network = false }.')
    return cast("Any", value)


class McpServerSpec(Spec):
    title: str | None = spec_key(
        default=None, description="What it is called for people; the name of the entry if unset."
    )
    # repr=False where a secret can hide: keys in the query of an address, tokens among arguments, and in
    # whatever a variable filled in.
    url: Annotated[str, After(_check_url)] | None = spec_key(
        default=None, repr=False, description="Address of a server that speaks MCP over HTTP."
    )
    headers: Mapping[str, Secret] = spec_key(
        default_factory=dict[str, Secret], description="HTTP headers sent with every request."
    )
    command: str | None = spec_key(
        default=None,
        min_length=1,
        repr=False,
        description="Program of a local server.",
    )
    args: tuple[str, ...] = spec_key(default=(), repr=False, description="Arguments of the program.")
    env: Mapping[str, Secret] = spec_key(
        default_factory=dict[str, Secret], description="Environment variables of the program."
    )
    cwd: FilePath | None = spec_key(
        default=None,
        repr=False,
        description='Folder in which the program starts; "@workspace": the client\'s own.',
    )
    sandbox: Annotated[SandboxSpec | None, Before(_read_sandbox)] = spec_key(
        default=None,
        description="Confine the program (Linux): true, or what it may read and write beside its own folder.",
    )
    type_name: TransportName | None = spec_key(
        default=None, alias="type", description="The transport; guessed from url or command if unset."
    )
    transport: TransportName | None = spec_key(default=None, description="Another spelling of type.")
    disabled: bool = spec_key(default=False, description="Keep the entry, but leave the server out.")
    timeout_s: Seconds | None = spec_key(
        default=None,
        description="Seconds to wait for an answer; unset: 300 for a tool call, 30 for anything else.",
    )
    tools: ServerToolsSpec = spec_key(
        default_factory=ServerToolsSpec, description="Which of its tools are offered, and their time limits."
    )
    start_timeout_s: Seconds | None = spec_key(
        default=None,
        description="Seconds until it has answered initialize: 120 for a program, 10 for a url if unset.",
    )
    isolation: Literal["auto", "shared", "session"] = spec_key(
        default="auto", description="One connection for all sessions, one for each, or what suits the server."
    )
    affinity: Literal["session", "none"] = spec_key(
        default="session",
        description="With replicas: one serves all calls of a session to it; none: any of them will do.",
    )
    trust: TrustMode = spec_key(
        default="watch",
        description="Changed tools: told and scanned (watch), held until accepted, or not looked at (free).",
    )
    redact_keys: tuple[str, ...] = spec_key(
        default=(), description="Keys whose values are not recorded of this server, beside [record]'s."
    )
    redact_patterns: tuple[Pattern, ...] = spec_key(
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

    @shows("url")
    def _show_url(self, url: str | None, is_effective: bool) -> str | None:
        return mask_url(self.as_written(is_effective, "url") or url) if url is not None else None

    @shows("command")
    def _show_command(self, command: str | None, is_effective: bool) -> str | None:
        return self.as_written(is_effective, "command") or command

    @shows("args")
    def _show_args(self, args: tuple[str, ...], is_effective: bool) -> list[str]:
        return mask_args([self.as_written(is_effective, "args", at) or arg for at, arg in enumerate(args)])

    @shows("cwd")
    def _show_cwd(self, cwd: Path | None, is_effective: bool) -> str | None:
        return self.as_written(is_effective, "cwd") or (str(cwd) if cwd is not None else None)
