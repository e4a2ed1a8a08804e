"""The configuration: its effective values with their origin, and changes to its file.

A change carries the digest of the file that it is meant for (`If-Match`: the `ETag` of an answer).
No answer holds the value of a secret.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta
from starlette.responses import Response

from callgate.api.changing.probe_api import is_of_this_machine
from callgate.api.operation import Asked, Operation, json_response
from callgate.model.error_codes import (
    CALLER_BAD_CONFIG,
    CALLER_NO_PRECONDITION,
    CALLER_STALE,
    REFUSED_NOT_LOCAL,
    SETUP_CONFIG_LOCKED,
    SETUP_NOT_RUNNING,
)
from callgate.model.errors import CallerError, SetupError
from callgate.model.identity import Role
from callgate.ports.settings import ConfigChange, ConfigEdits

_Key = Annotated[str, Meta(min_length=1, max_length=1_000, description='A key path: mcpServers."a b".url.')]
_MAX_KEYS = 200


class ConfigValueShape(msgspec.Struct):
    key_path: str
    value: Any  # secrets masked; null: it is not set
    origin: Literal["file", "environment", "flag", "default"]
    where: str  # the line of the file, or the name of the variable or flag
    description: str
    kind: str  # JSON's word for its type, as the file takes it
    choices: list[str]  # empty: any value of its type
    is_secret: bool  # it is not told, but can be set


class ConfigEntryShape(msgspec.Struct):
    name: str  # as /api/v1/servers has it
    kind: Literal["sql", "mcp"]
    key_path: str  # to change or remove it
    is_disabled: bool
    is_in_file: bool  # false: a variable or the command line names it


class ConfigShape(msgspec.Struct):
    file: str | None  # null: there is none; the first change makes one
    digest: str  # for If-Match
    is_writable: bool
    problem: str | None  # why the file as it is now is not what is served
    needs_restart: list[str]  # keys that only a new start takes over
    values: list[ConfigValueShape]
    entries: list[ConfigEntryShape]  # sources and servers, also those that are left out


class AddedEntry(msgspec.Struct, forbid_unknown_fields=True):
    """A source or server, as `probeServer` takes it."""

    text: Annotated[str, Meta(min_length=1, max_length=32 * 1024)]
    name: Annotated[str, Meta(max_length=100)] | None = None


class ConfigBody(msgspec.Struct, forbid_unknown_fields=True):
    set: Annotated[dict[_Key, Any], Meta(max_length=_MAX_KEYS)] = {}
    unset: Annotated[list[_Key], Meta(max_length=_MAX_KEYS)] = []
    add: AddedEntry | None = None


class DryRun(msgspec.Struct, forbid_unknown_fields=True):
    dry_run: Annotated[bool, Meta(description="Check it and tell the difference, but write nothing.")] = False


class ChangedShape(msgspec.Struct):
    file: str
    digest: str  # of the file as it is now, or would be
    diff: list[str]  # lines that go (-) and come (+), secrets masked
    changed: list[str]  # key paths
    name: str | None  # of what was added
    needs_restart: list[str]
    problem: str | None  # why it is written, but not taken over


class ConfigApi:
    def __init__(self) -> None:
        self.edits: ConfigEdits | None = None  # None: nothing is served here

    def operations(self) -> list[Operation]:
        return [
            Operation(
                "/api/v1/config",
                "getConfig",
                "The effective configuration, each value with its origin, secrets masked",
                self.get,
                ConfigShape,
                role=Role.OPERATE,
                errors=(SETUP_NOT_RUNNING,),
            ),
            Operation(
                "/api/v1/config",
                "changeConfig",
                "Change the file: check it whole, write it at once, keep a backup, and take it over",
                self.change,
                ChangedShape,
                DryRun,
                takes=ConfigBody,
                verb="PATCH",
                headers={"If-Match": "The ETag of the answer before."},
                role=Role.OPERATE,
                tells=_told,
                errors=(
                    CALLER_BAD_CONFIG,
                    CALLER_STALE,
                    CALLER_NO_PRECONDITION,
                    REFUSED_NOT_LOCAL,
                    SETUP_CONFIG_LOCKED,
                    SETUP_NOT_RUNNING,
                ),
            ),
        ]

    async def get(self, asked: Asked[None, None]) -> Response:
        view = await self._edits().view()
        shape = ConfigShape(
            view.file,
            view.digest,
            view.is_writable,
            view.problem,
            list(self._edits().news.needs_restart),
            [msgspec.convert(one, ConfigValueShape, from_attributes=True) for one in view.values],
            [msgspec.convert(one, ConfigEntryShape, from_attributes=True) for one in view.entries],
        )
        return _tagged(shape, view.digest)

    async def change(self, asked: Asked[DryRun, ConfigBody]) -> Response:
        body, matched = asked.body, asked.headers.get("if-match", "").strip().strip('"')
        if not matched:
            raise CallerError(
                CALLER_NO_PRECONDITION,
                "The header If-Match is missing",
                hint="Send the ETag of GET /api/v1/config",
            )
        change = ConfigChange(
            body.set,
            body.unset,
            None if body.add is None else body.add.text,
            None if body.add is None else body.add.name,
        )
        done = await self._edits().change(
            change, matched, dry_run=asked.query.dry_run, is_local=is_of_this_machine(asked)
        )
        return _tagged(msgspec.convert(done, ChangedShape, from_attributes=True), done.digest)

    def _edits(self) -> ConfigEdits:
        if self.edits is None:
            raise SetupError(SETUP_NOT_RUNNING, "No gateway is running here", hint="Start one with: callgate")
        return self.edits


def _tagged(shape: msgspec.Struct, digest: str) -> Response:
    answer = json_response(shape)
    answer.headers["etag"] = f'"{digest}"'
    return answer


def _told(asked: Asked[DryRun, ConfigBody]) -> dict[str, Any]:
    """For the record: key paths only."""
    told: dict[str, Any] = {"set": list(asked.body.set), "unset": asked.body.unset}
    if asked.body.add is not None:
        told["add"] = asked.body.add.name or ""
    if asked.query.dry_run:
        told["dry_run"] = True
    return told
