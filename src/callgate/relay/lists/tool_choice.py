"""Which tools of a server the operator lets through: `tools = { only = […], leave_out = […] }` of its entry.

A tool that is left out is in no list and is not called, whichever way a client comes. Also here: how one
server's own list of tools is changed on its way to a client.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fnmatch import translate

import msgspec

from callgate.model.envelope import Era
from callgate.model.error_codes import REFUSED_LEFT_OUT, UPSTREAM_FAILED
from callgate.model.errors import RefusedError, UpstreamError
from callgate.model.offers import OfferKind
from callgate.relay.lists.slices import in_slices
from callgate.wire.eras.result_shape import definition_across
from callgate.wire.params import entries_decoder, members_decoder, peek, text_of


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One name under `tools` of a server's entry, and which of the server's tools it means."""

    key: str  # in the entry: "tools.leave_out"
    name: str  # as written
    pattern: re.Pattern[str] = field(compare=False)

    def fits(self, native_name: str) -> bool:
        return self.pattern.fullmatch(native_name) is not None


class ToolChoice:
    def __init__(
        self, only: Sequence[str] = (), leave_out: Sequence[str] = (), timed: Iterable[str] = ()
    ) -> None:
        """Names as the server has them; `*` stands for anything, except in `timed`.

        `timed`: tools with a time limit of their own. They are kept only for `rules`.
        """
        self._only = [ToolRule("tools.only", name, _pattern(name)) for name in only]
        self._leave_out = [ToolRule("tools.leave_out", name, _pattern(name)) for name in leave_out]
        self._timed = [ToolRule("tools.timeout_s", name, re.compile(re.escape(name))) for name in timed]

    @property
    def rules(self) -> list[ToolRule]:
        """All of them, so that one that fits no tool can be reported."""
        return [*self._only, *self._leave_out, *self._timed]

    @property
    def takes_all(self) -> bool:
        return not self._only and not self._leave_out

    def takes(self, native_name: str) -> bool:
        return self._reason(native_name) is None

    def check(self, server: str, native_name: str) -> None:
        """Raises RefusedError."""
        if (reason := self._reason(native_name)) is not None:
            raise RefusedError(
                REFUSED_LEFT_OUT,
                f"The tool {native_name[:100]} of {server} is left out by the configuration",
                hint=f"{reason}: see tools in the entry of {server}",
            )

    def _reason(self, native_name: str) -> str | None:
        if any(rule.fits(native_name) for rule in self._leave_out):
            return "leave_out names it"
        if self._only and not any(rule.fits(native_name) for rule in self._only):
            return "only does not name it"
        return None


async def chosen_tools(server: str, result: bytes, choice: ToolChoice) -> bytes:
    """A server's own `tools/list` without what is left out. An entry without a name is nobody's choice."""

    def chosen(entry: bytes) -> bytes | None:
        name = text_of(peek(entry).name) if entry[:1] == b"{" else None
        return entry if name is not None and choice.takes(name) else None

    try:
        return await _each_tool(result, chosen)
    except (msgspec.DecodeError, KeyError) as problem:
        raise UpstreamError(
            UPSTREAM_FAILED, f"{server} answered tools/list with an invalid result"
        ) from problem


async def tools_across(result: bytes, era: Era) -> bytes:
    """One server's list of tools for a client of the other era, which is `era`. What cannot be read passes:
    the client may make of it what it can."""
    written_in = Era.MODERN if era is Era.LEGACY else Era.LEGACY

    is_same = True

    def across(entry: bytes) -> bytes:
        nonlocal is_same
        other = definition_across(OfferKind.TOOL, entry, written_in) if entry[:1] == b"{" else None
        is_same = is_same and other is None
        return other or entry

    try:
        told = await _each_tool(result, across)
    except (msgspec.DecodeError, KeyError):
        return result
    return result if is_same else told


async def _each_tool(result: bytes, change: Callable[[bytes], bytes | None]) -> bytes:
    """The list with what `change` makes of each entry, None to leave it out. In slices: it may be as long as
    a frame."""
    members = members_decoder.decode(result)
    entries = in_slices(entries_decoder.decode(members["tools"]))
    after = [entry async for raw in entries if (entry := change(bytes(raw))) is not None]
    members["tools"] = msgspec.Raw(b"[%b]" % b",".join(after))
    return msgspec.json.encode(members)


def _pattern(name: str) -> re.Pattern[str]:
    # Of a shell's patterns only `*`: brackets and question marks in a name are themselves.
    return re.compile(translate(name.replace("[", "[[]").replace("?", "[?]")))
