"""Trying a source or server that is not in the configuration: whatever somebody pasted."""

from collections.abc import Callable
from ipaddress import ip_address
from typing import Annotated, Any, Literal, cast

import msgspec
from msgspec import Meta

from callgate.api.operation import Asked, Operation
from callgate.api.server_shapes import FindingShape, ToolShape
from callgate.api.shapes import Era
from callgate.api.tool_views import ToolViews
from callgate.api.trust_api import FlawShape, flaw_shape
from callgate.model.error_codes import (
    CALLER_BAD_CONFIG,
    REFUSED_NOT_LOCAL,
    SETUP_NOT_RUNNING,
)
from callgate.model.errors import SetupError
from callgate.model.identity import Role
from callgate.model.trust import Flaw
from callgate.ports.http_app import FORWARDED, UNIX_PEER
from callgate.ports.server_care import Prober


class ProbeBody(msgspec.Struct, forbid_unknown_fields=True):
    text: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=32 * 1024,
            description="A database's or a server's address, a command line, or a client's entry.",
        ),
    ]
    name: Annotated[str, Meta(max_length=100)] | None = None  # null: chosen here


class ScannedTool(msgspec.Struct):
    tool: str
    findings: list[FlawShape]


class ProbedServer(msgspec.Struct, kw_only=True):
    """What it says of itself. It is not added, and everything of it is closed again."""

    name: str
    kind: Literal["sql", "mcp"]
    address: str  # without passwords, keys and tokens
    place: str  # its key path in the file, once it is added
    reachable: bool
    needs_login: bool  # it answered 401
    era: Era | None
    protocol: str | None
    version: str | None
    account: str | None  # of a database
    role: str | None
    mode: Literal["read_only", "write"] | None
    settings: dict[str, str]  # of a database, as its session has them
    tools: list[ToolShape]
    tokens: int  # of all its tools
    destructive: int  # how many tools may destroy something, by their own words and the defaults
    undeclared: int  # how many declare nothing
    scan: list[ScannedTool]  # tools in which the scan finds something; of a database it looks at none
    findings: list[FindingShape]
    secrets: list[str]  # the keys of its entry that hold a secret
    is_local: bool  # a program of the gateway's machine is started for it, or a file is read


class ProbeApi:
    def __init__(self, teller: ToolViews, redact: Callable[[str], str]) -> None:
        self._teller = teller
        self._redact = redact
        self.prober: Prober | None = None  # None: nothing is served here

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/servers/probe",
                "probeServer",
                "Try a source or MCP server that is not in the configuration, for at most 15 s, and close it",
                self.probe,
                ProbedServer,
                takes=ProbeBody,
                role=Role.OPERATE,
                errors=(CALLER_BAD_CONFIG, REFUSED_NOT_LOCAL, SETUP_NOT_RUNNING),
            )
        ]

    async def probe(self, asked: Asked[None, ProbeBody]) -> ProbedServer:
        if self.prober is None:
            raise SetupError(SETUP_NOT_RUNNING, "No gateway is running here", hint="Start one with: callgate")
        found = await self.prober.probe(asked.body.text, asked.body.name, is_local=is_of_this_machine(asked))
        tools = await self._teller.tell(found.tools, {})
        return ProbedServer(
            name=found.name,
            kind="sql" if found.kind == "sql" else "mcp",
            address=self._redact(found.address),
            place=found.place,
            reachable=found.reachable,
            needs_login=found.needs_login,
            era=cast(Era | None, found.era),
            protocol=found.protocol and self._redact(found.protocol),
            version=found.version and self._redact(found.version),
            account=found.account,
            role=found.role,
            mode=cast(Any, found.mode),
            settings=dict(found.settings),
            tools=tools,
            tokens=sum(tool.tokens for tool in tools),
            destructive=found.destructive,
            undeclared=found.undeclared,
            scan=[
                ScannedTool(self._redact(tool), [self._flaw(one) for one in flaws])
                for tool, flaws in found.scan.items()
            ],
            findings=[
                FindingShape(cast(Any, one.severity), self._redact(one.text), self._redact(one.advice))
                for one in found.findings
            ],
            secrets=list(found.secrets),
            is_local=found.is_local,
        )

    def _flaw(self, flaw: Flaw) -> FlawShape:
        shape = flaw_shape(flaw)
        shape.where, shape.excerpt = self._redact(shape.where), self._redact(shape.excerpt)
        return shape


def is_of_this_machine(asked: Asked[Any, Any]) -> bool:
    """Whether the other end of the connection is this machine, and speaks for itself. A forwarded address is
    not believed: that there is one is enough to say no."""
    if asked.peer is None or any(name in asked.headers for name in FORWARDED):
        return False
    if asked.peer == UNIX_PEER:
        return True
    try:
        address = ip_address(asked.peer.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
