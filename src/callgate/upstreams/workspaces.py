"""The folder of a client, for servers with `cwd = "@workspace"`: told by it, or asked for.

Rules (docs/servers.md)
1. Only a client on this machine has a folder here: what one elsewhere names is a path of another machine.
2. What it says by itself (`X-Callgate-Workspace`) counts first, then its first root, then the folder in which
   `callgate stdio` was started.
3. A legacy client is asked for its roots once, and again after it said that they changed. A modern one is
   asked with each call: two windows of the same program are one session to us, and nothing says when roots
   change.
4. A folder is absolute, local, and there. Else the call is refused, with the reason.
"""

import asyncio
import os
from pathlib import Path
from urllib.parse import unquote, urlsplit

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import CALLER_NO_WORKSPACE
from callgate.model.errors import CallerError
from callgate.model.reply import Answer, Asking, Tell, Withdrawn
from callgate.ports.upstream import Asker
from callgate.upstreams.link.own_lines import OwnPatience
from callgate.wire.eras.capabilities import declared

_MAX_PATH_CHARS = 4_096  # PATH_MAX
_HINT = (
    "Let the client declare roots, start `callgate stdio` in the folder, or send it as the header "
    "X-Callgate-Workspace"
)


class _Root(msgspec.Struct):
    uri: str


class _Roots(msgspec.Struct):
    roots: list[_Root] = []


class Workspaces:
    """One for each server; everything happens on the event loop's thread."""

    def __init__(self, server: str, patience: OwnPatience) -> None:
        self._server = server
        self._patience = patience
        self._asked: dict[str, str | None] = {}  # the first root of legacy sessions, None: there is none
        self._last: dict[str, str] = {}  # where each legacy session was served

    async def folder_of(self, asker: Asker, tell: Tell) -> Path:
        """Raises CallerError."""
        session = asker.session
        if not session.is_local:
            raise self._unknown("a client on another machine has no folder here")
        if session.workspace is not None and session.transport == "http":
            return self._checked(_as_sent(session.workspace))
        named = await self._first_root(asker, tell) or session.workspace
        if named is None:
            raise self._unknown("this client did not name one")
        return self._checked(named)

    def has_moved(self, session_id: str, folder: Path) -> bool:
        """Whether this session was served in another folder before."""
        before = self._last.get(session_id)
        self._last[session_id] = str(folder)
        return before is not None and before != str(folder)

    def roots_changed(self, session_id: str) -> None:
        self._asked.pop(session_id, None)

    def forget(self, session_id: str) -> None:
        self._asked.pop(session_id, None)
        self._last.pop(session_id, None)

    async def _first_root(self, asker: Asker, tell: Tell) -> str | None:
        is_modern = asker.envelope.era is Era.MODERN
        client = asker.envelope if is_modern else asker.session.envelope
        if "roots" not in declared(client.capabilities):
            return None
        session_id = asker.session.session_id
        if is_modern:
            return await self._ask(tell)
        if session_id not in self._asked:
            self._asked[session_id] = await self._ask(tell)
        return self._asked[session_id]

    async def _ask(self, tell: Tell) -> str | None:
        answered: asyncio.Future[Answer] = asyncio.get_running_loop().create_future()
        question = Asking(
            "roots/list", b"{}", lambda answer: None if answered.done() else answered.set_result(answer)
        )
        await tell(question)
        try:
            answer = await asyncio.wait_for(answered, self._patience.answer_s)
            roots = msgspec.json.decode(answer.result or b"{}", type=_Roots).roots
        except TimeoutError as problem:
            await tell(Withdrawn(question))
            raise self._unknown("this client did not answer which roots it has") from problem
        except msgspec.DecodeError as problem:
            raise self._unknown("what this client says of its roots cannot be read") from problem
        return roots[0].uri if roots else None

    def _checked(self, named: str) -> Path:
        shown = named[:200]
        path = named
        if "://" in named:
            try:
                parts = urlsplit(named)
            except ValueError:
                parts = urlsplit("")
            if (
                parts.scheme != "file"
                or parts.netloc not in ("", "localhost")
                or parts.query
                or parts.fragment
            ):
                raise self._unknown(f"{shown!r} is not a folder of this machine")
            path = unquote(parts.path)
        if not path.startswith("/") or "\0" in path or len(path) > _MAX_PATH_CHARS:
            raise self._unknown(f"{shown!r} is not an absolute path")
        if not os.path.isdir(path):  # noqa: PTH112 - Path.is_dir raises for what cannot be looked at
            raise self._unknown(f"there is no folder {shown!r} on this machine")
        return Path(path).resolve()

    def _unknown(self, why: str) -> CallerError:
        text = f"{self._server} runs in the folder of its client, and {why}"
        return CallerError(CALLER_NO_WORKSPACE, text, hint=_HINT)


def _as_sent(header: str) -> str:
    """HTTP names no encoding: a header is read as Latin-1, and programs write UTF-8."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header
