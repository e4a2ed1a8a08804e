"""`GET /api/v1/clients`: what to write into each MCP client so that it uses this gateway."""

import re
from collections.abc import Callable
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import UNSET, Meta, UnsetType

from callgate.api.about_api import MCP_PATH, ShownSettings
from callgate.api.operation import Asked, Operation, bad_params
from callgate.config.mcp_clients import CLIENTS, ClientFile, Door, McpClient
from callgate.model.identity import Role

# The address is put into shells, files and links. Nothing that any of them reads otherwise passes.
_BASE = r"https?://(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?(?:/[A-Za-z0-9._~/-]*)?"
_MAX_BASE = 300
# Only a gateway without tokens tells where its program is: then nobody beyond this machine reaches it.
_UNTOLD_PROGRAM = "/path/to/callgate"


class ClientsQuery(msgspec.Struct, forbid_unknown_fields=True):
    base: (
        Annotated[
            str,
            Meta(
                pattern=f"^{_BASE}$",
                max_length=_MAX_BASE,
                description="How clients reach the gateway, as https://callgate.example.com.",
            ),
        ]
        | UnsetType
    ) = UNSET


class ClientShape(msgspec.Struct, kw_only=True):
    id: str
    name: str
    calls_itself: list[str]  # how the client's name begins in the record, in small letters
    files: list[ClientFile]
    transport: Literal["http", "stdio"]
    syntax: Literal["json", "toml", "yaml"]
    entry: str  # the whole text of a file that holds nothing else
    command: str | None  # does the same in a shell
    link: str | None  # opens the client, which asks whether to add it
    note: str | None


class ClientList(msgspec.Struct, kw_only=True):
    clients: list[ClientShape]
    total: int
    next_cursor: str | None
    url: str  # of the MCP endpoint, for any other client
    program: str  # the command, for other clients that start their servers; its argument is `stdio`
    needs_token: bool  # the entries have a place for it, never the token itself


class ClientsApi:
    def __init__(self, setup: Callable[[], ShownSettings]) -> None:
        self._setup = setup

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/clients",
                "listClients",
                "What to write into each MCP client so that it uses this gateway",
                self.clients,
                ClientList,
                role=Role.WATCH,
                query=ClientsQuery,
            )
        ]

    async def clients(self, asked: Asked[ClientsQuery, None]) -> ClientList:
        base = asked.query.base or f"http://{asked.headers.get('host', '')}"
        if not _is_address(base):
            hint = "Give a scheme, a host and at most a port and a path: https://callgate.example.com"
            raise bad_params("base is not an http or https address", hint)
        setup = self._setup()
        needs_token = setup.needs_token
        program = _UNTOLD_PROGRAM if needs_token else setup.program
        door = Door(base.rstrip("/") + MCP_PATH, needs_token, program)
        clients = [_shape(client, door) for client in CLIENTS]
        return ClientList(
            clients=clients,
            total=len(clients),
            next_cursor=None,
            url=door.url,
            program=program,
            needs_token=needs_token,
        )


def _is_address(base: str) -> bool:
    """A Host may be anything, and what is in brackets or after the colon need not be an address or a port."""
    try:
        return re.fullmatch(_BASE, base) is not None and urlsplit(base).port != 0
    except ValueError:
        return False


def _shape(client: McpClient, door: Door) -> ClientShape:
    return ClientShape(
        id=client.key,
        name=client.title,
        calls_itself=list(client.calls_itself),
        files=list(client.files),
        transport=client.transport,
        syntax=client.syntax,
        entry=client.entry(door),
        command=client.command and client.command(door),
        link=client.link and client.link(door),
        note=client.note or None,
    )
