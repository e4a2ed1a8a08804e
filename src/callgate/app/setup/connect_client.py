"""Writes our entry into a client's file, with a principal and a token of its own; and takes both back.

Rules
1. Nothing is written but what was shown: a file that has changed since is left alone.
2. A file that is not understood, is another user's, or may not be written, is left alone.
3. What the file was before is kept in the state folder (0600). Undoing gives back every byte; if somebody has
   changed the file since, only our entry is taken out.
4. The token is in the client's file alone, which afterwards others cannot read. Our file has its hash.
"""

import hashlib
import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from callgate.config.client_files import ClientEntry, entry_for
from callgate.config.editing.json_text import JsonEditError, JsonText
from callgate.config.editing.toml_text import TomlEditError, TomlText
from callgate.config.editing.written_values import written
from callgate.config.mcp_clients import Door, McpClient
from callgate.config.raw_values import list_of, table_of
from callgate.config.whole_file import whole_file
from callgate.model.error_codes import CALLER_NOT_FOUND, CALLER_STALE, SETUP_CONFIG_LOCKED
from callgate.model.errors import CallerError, SetupError

# Claude Code keeps a history in its file; far beyond that is no file of settings.
_MAX_FILE_BYTES = 64 * 1024 * 1024
_FOLDER = "connected"
_BOM = "\ufeff"


class Connected(msgspec.Struct, frozen=True):
    """What is remembered of a client that was connected."""

    client: str
    path: str
    principal: str
    loc: tuple[str, ...]
    inputs: tuple[str, ...]  # their ids
    was_there: bool  # the file
    mode: int
    digest: str  # of what was written


@dataclass(frozen=True, slots=True)
class ConnectPlan:
    """One change of one client's file, not made yet."""

    client: McpClient
    path: Path  # as the person knows it
    entry: ClientEntry
    before: bytes | None  # None: there is no file
    after: bytes = field(repr=False)


def read_client_file(path: Path) -> bytes | None:
    """Raises SetupError for one that is not to be changed by us."""
    try:
        found = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise _unfit(path, "is a link to nothing") from None
        return None
    except OSError as problem:
        raise _unfit(path, f"cannot be read ({problem.strerror})") from None
    if not stat.S_ISREG(found.st_mode):
        raise _unfit(path, "is not a regular file")
    if found.st_uid != os.geteuid():
        raise _unfit(path, "belongs to another user")
    if found.st_size > _MAX_FILE_BYTES:
        raise _unfit(path, f"is larger than {_MAX_FILE_BYTES // 2**20} MiB")
    if not found.st_mode & stat.S_IWUSR:
        raise _unfit(path, "may not be written")
    try:
        return path.read_bytes()
    except OSError as problem:
        raise _unfit(path, f"cannot be read ({problem.strerror})") from None


def plan_connection(client: McpClient, path: Path, door: Door, token: str, *, is_shared: bool) -> ConnectPlan:
    """Raises SetupError where the file is not understood."""
    before = read_client_file(path)
    text = _text_of(path, before)
    try:
        if client.syntax == "toml":
            toml = TomlText(text)
            entry = entry_for(client, door, token, toml.tree, is_shared=is_shared)
            toml.set(entry.loc, entry.value)
            after = toml.text
        else:
            edited = JsonText(text)
            entry = entry_for(client, door, token, edited.tree, is_shared=is_shared)
            edited.set(entry.loc, entry.value)
            for one in entry.inputs:
                if one["id"] not in _input_ids(edited):
                    edited.append("inputs", one)
            after = edited.text
    except JsonEditError as error:
        raise _unfit(path, error.what) from None
    except (TomlEditError, ValueError):
        raise _unfit(path, "is not TOML that is understood here") from None
    return ConnectPlan(client, path, entry, before, _encoded(before, after))


def shown(plan: ConnectPlan, token: str) -> str:
    """What comes into the file, with the beginning of the token only. Nothing of what else is in it."""
    key, value = plan.entry.loc[-1], plan.entry.value
    if plan.client.syntax == "toml":
        lines = [f"{name} = {written(one)}" for name, one in value.items()]
        text = "\n".join([f"[{'.'.join(plan.entry.loc)}]", *lines])
    else:
        text = f"{json.dumps(key)}: {json.dumps(value)}"
        text += "".join(f'\n"inputs": {json.dumps(one)}' for one in plan.entry.inputs)
    return text.replace(token, f"{token[:3]}…")


def apply_plan(plan: ConnectPlan, state: Path, principal: str) -> None:
    """Raises CallerError, and OSError."""
    if read_client_file(plan.path) != plan.before:
        raise CallerError(
            CALLER_STALE, f"{plan.path} was changed by somebody else meanwhile", hint="Try again"
        )
    target = plan.path.resolve()  # a link stays a link
    mode = stat.S_IMODE(target.stat().st_mode) if plan.before is not None else 0o600
    known = connected_as(state, plan.client, plan.path)
    note = Connected(
        client=plan.client.key,
        path=str(plan.path),
        principal=principal,
        loc=plan.entry.loc,
        inputs=tuple(str(one["id"]) for one in plan.entry.inputs),
        was_there=plan.before is not None,
        mode=mode,
        digest=_digest(plan.after),
    )
    folder = state / _FOLDER
    folder.mkdir(mode=0o700, exist_ok=True)
    if known is not None and plan.before is not None and known.digest == _digest(plan.before):
        # Connected once more: what was there before the first time is still what undoing gives back.
        note = msgspec.structs.replace(note, was_there=known.was_there, mode=known.mode)
    else:
        with whole_file(_backup(state, plan.client, plan.path)) as file:
            file.write(plan.before or b"")
    with whole_file(_note(state, plan.client, plan.path)) as file:
        file.write(msgspec.json.encode(note))
    target.parent.mkdir(parents=True, exist_ok=True)
    with whole_file(target, mode & 0o700 if plan.entry.has_token else mode) as file:
        file.write(plan.after)


def connected_as(state: Path, client: McpClient, path: Path) -> Connected | None:
    try:
        return msgspec.json.decode(_note(state, client, path).read_bytes(), type=Connected)
    except (OSError, msgspec.DecodeError):
        return None


def undo(state: Path, client: McpClient, path: Path) -> tuple[Connected, bool]:
    """What was remembered, and whether the whole file is what it was. Raises CallgateError and OSError."""
    known = connected_as(state, client, path)
    if known is None:
        raise CallerError(
            CALLER_NOT_FOUND,
            f"{client.title} was not connected by this command, as far as {state} knows",
            hint=f"Remove our entry from {path} with an editor, and its token with: callgate token revoke",
        )
    now = read_client_file(path)
    target = path.resolve()
    is_ours = now is not None and _digest(now) == known.digest
    if is_ours and not known.was_there:
        target.unlink()
    elif is_ours:
        with whole_file(target, known.mode) as file:
            file.write(_backup(state, client, path).read_bytes())
    elif now is not None:
        _take_out(known, target, now, client)
    for kept in (_note(state, client, path), _backup(state, client, path)):
        kept.unlink(missing_ok=True)
    return known, is_ours or now is None


def _take_out(known: Connected, target: Path, now: bytes, client: McpClient) -> None:
    try:
        if client.syntax == "toml":
            toml = TomlText(_text_of(target, now))
            if not toml.has(known.loc):
                return
            toml.remove(known.loc)
            after = toml.text
        else:
            edited = JsonText(_text_of(target, now))
            if edited.has(known.loc):
                edited.remove(known.loc)
            for one in known.inputs:
                if one in (ids := _input_ids(edited)):
                    edited.remove(("inputs", ids.index(one)))
            after = edited.text
    except JsonEditError as error:
        raise _unfit(target, error.what) from None
    except (TomlEditError, ValueError):
        raise _unfit(target, "is not TOML that is understood here") from None
    with whole_file(target, stat.S_IMODE(target.stat().st_mode)) as file:
        file.write(_encoded(now, after))


def _input_ids(edited: JsonText) -> list[object]:
    return [table_of(one).get("id") for one in list_of(edited.tree.get("inputs"))]


def _text_of(path: Path, content: bytes | None) -> str:
    try:
        return (content or b"").decode().removeprefix(_BOM)
    except UnicodeDecodeError:
        raise _unfit(path, "is not UTF-8 text") from None


def _encoded(before: bytes | None, after: str) -> bytes:
    has_bom = (before or b"").startswith(_BOM.encode())
    return (_BOM + after if has_bom else after).encode()


def _unfit(path: Path, what: str) -> SetupError:
    return SetupError(SETUP_CONFIG_LOCKED, f"{path} {what}, and is left alone")


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _note(state: Path, client: McpClient, path: Path) -> Path:
    return _kept(state, client, path, "json")


def _backup(state: Path, client: McpClient, path: Path) -> Path:
    return _kept(state, client, path, "before")


def _kept(state: Path, client: McpClient, path: Path, suffix: str) -> Path:
    """By client and place: one client may have files in several projects."""
    return state / _FOLDER / f"{client.key}-{_digest(str(path).encode())[:12]}.{suffix}"
