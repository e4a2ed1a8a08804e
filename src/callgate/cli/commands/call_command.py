"""`callgate call`: one tool call from the terminal, recorded like any other."""

import json
import re
import sys
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.app.stdio import local_client
from callgate.cli.log import log_to_stderr
from callgate.cli.media import Media, media_in, save_media, say_unsaved
from callgate.cli.terminal import Exit, ProgressLine, print_json, print_text, say_error
from callgate.cli.tool_help import print_tool
from callgate.client import Server, ServerFault, connect
from callgate.config.sources.flags import Flags
from callgate.model.error_codes import ALL, CALLER_BAD_ARGUMENTS, CALLER_UNKNOWN_TOOL
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean_one_of
from callgate.model.wording import clip
from callgate.ports.caller import CLI_PROGRAM
from callgate.wire.revisions import META_CODE

_Json = dict[str, Any]
# The types of JSON Schema whose values are not read as text, as they are in a sentence.
_JSON_TYPES = {
    "integer": "an integer",
    "number": "a number",
    "boolean": "true or false",
    "object": "a JSON object",
    "array": "a JSON array",
    "null": "null",
}
_MAX_SHOWN_CHARS = 100
# What can stand before "=" as a name; "SELECT a = 1" has none.
_KEY = re.compile(r"[\w.$-]+:?")


@dataclass(frozen=True, slots=True)
class Through:
    """Which way a call goes: a gateway of these flags, or a server of one's own choice."""

    flags: Flags
    upstream: str | None
    timeout_s: float


def run_call(
    tool: str, pairs: list[str], through: Through, as_json: bool, save_to: Path | None = None
) -> None:
    log_to_stderr()
    try:
        result = run_loop(_call(tool, pairs, through))
    except ServerFault as fault:
        hint, code = hint_and_code(fault.data)
        if as_json:
            print_json({"error": {"code": code, "message": fault.message, "hint": hint}})
        else:
            say_error(fault.message, hint or "", code)
        sys.exit(ALL[code].exit_code if code in ALL else Exit.ERROR)
    show_result(result, as_json, save_to)


def show_tool(tool: str, through: Through, as_json: bool) -> None:
    """What the tool does and takes, instead of a call of it."""

    async def find() -> _Json:
        async with _server(through) as server:
            tools = {entry["name"]: entry for entry in await server.list_tools()}
            if tool not in tools:
                raise _unknown_tool(tool, list(tools))
            return tools[tool]

    log_to_stderr()
    entry = run_loop(find())
    if as_json:
        print_json(entry)
    else:
        print_tool(entry)


def hint_and_code(data: object) -> tuple[str | None, str | None]:
    """Of an error's data, which is ours or any server's: there it can be anything."""
    members = cast(_Json, data) if isinstance(data, dict) else {}
    hint, code = members.get("hint"), members.get("code")
    return (hint if isinstance(hint, str) else None, code if isinstance(code, str) else None)


async def _call(tool: str, pairs: list[str], through: Through) -> _Json:
    progress = ProgressLine()
    async with _server(through) as server:
        tools = {entry["name"]: entry for entry in await server.list_tools()}
        # A gateway also knows tools that it does not list: of a server that is down, and with tool_search.
        if tool not in tools and through.upstream is not None:
            raise _unknown_tool(tool, list(tools))
        bare = [pair for pair in pairs if "=" not in pair]
        if tool not in tools and bare:
            raise _unlisted(tool, bare[0], list(tools))
        arguments = read_arguments(pairs, tools.get(tool, {}).get("inputSchema", {}))
        try:
            return await server.call_tool(
                tool,
                arguments,
                timeout_s=through.timeout_s,
                on_progress=lambda told: progress.show(_progress_text(told)),
            )
        except ServerFault as fault:
            hint, code = hint_and_code(fault.data)
            if code == CALLER_UNKNOWN_TOOL.code:
                raise _unknown_tool(tool, list(tools), hint) from fault
            raise
        finally:
            progress.clear()


def _server(through: Through) -> AbstractAsyncContextManager[Server]:
    if through.upstream is None:
        return local_client(load_config(through.flags))
    target = through.upstream
    is_target = target.partition(":")[0] in ("http", "https", "stdio", "sse", "unix")
    return connect(target if is_target else f"stdio:{target}", client_name=CLI_PROGRAM)


def _progress_text(progress: _Json) -> str:
    total = f"/{progress['total']}" if "total" in progress else ""
    return f"{progress.get('progress')}{total} {progress.get('message', '')}"


def _unknown_tool(tool: str, known: list[str], hint: str | None = None) -> CallerError:
    hint = hint or did_you_mean_one_of(tool, known) or f"Offered: {', '.join(known) or 'none'}"
    return CallerError(CALLER_UNKNOWN_TOOL, f"There is no tool {tool}", hint=hint)


def _unlisted(tool: str, bare: str, known: list[str]) -> CallerError:
    """Its schema is not known, which would say what a value without a key is."""
    text = f"No tool {tool} is listed, so {clip(bare, _MAX_SHOWN_CHARS)!r} needs a key"
    hint = did_you_mean_one_of(tool, known) or "Write key=value; callgate servers says what is down"
    return CallerError(CALLER_UNKNOWN_TOOL, text, hint=hint)


def read_arguments(pairs: list[str], schema: _Json) -> _Json:
    """key=value is read by the type that the tool's schema declares, else as text; key:=JSON as it is.

    A single argument that has no key is the value of the tool's only required text.
    """
    properties = cast(dict[str, _Json], schema.get("properties", {}))
    if len(pairs) == 1 and _is_bare(pairs[0], properties) and (only := _only_text(schema)) is not None:
        return {only: pairs[0]}
    arguments: _Json = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key.rstrip(":"):
            raise _bad_argument(pair, "is not key=value", "Write key=value, or key:=JSON")
        declared = properties.get(key, {}).get("type")
        if key.endswith(":"):
            key, declared = key[:-1], "json"
        if declared == "json" or (isinstance(declared, str) and declared in _JSON_TYPES):
            try:
                arguments[key] = json.loads(value)
            except json.JSONDecodeError as problem:
                wrong = f"is not JSON: {problem.msg}"
                if declared != "json":
                    shown = clip(value, _MAX_SHOWN_CHARS)
                    wrong = f"must be {_JSON_TYPES[declared]} (the tool's schema says so), not {shown!r}"
                raise _bad_argument(key, wrong, "") from problem
        else:
            arguments[key] = value
    return arguments


def _is_bare(argument: str, properties: _Json) -> bool:
    """A key alone is a value that was forgotten."""
    key, equals, _ = argument.partition("=")
    return not _KEY.fullmatch(key) if equals else argument not in properties


def _only_text(schema: _Json) -> str | None:
    """The name of the one text that must be given, or of the only one that can be."""
    properties = cast(dict[str, _Json], schema.get("properties", {}))
    names = cast(list[str], schema.get("required") or list(properties))
    texts = [name for name in names if properties.get(name, {}).get("type") == "string"]
    return texts[0] if len(texts) == len(names) == 1 else None


def _bad_argument(what: str, problem: str, hint: str) -> CallerError:
    return CallerError(CALLER_BAD_ARGUMENTS, f"Argument {what!r} {problem}", hint=hint)


def show_result(result: _Json, as_json: bool, save_to: Path | None = None) -> None:
    """What the tool said; ends the program when it said that it failed."""
    failed = result.get("isError") is True
    media: list[Media] = media_in(result)
    if save_to is not None:
        save_media(media, save_to)
    elif not as_json:
        say_unsaved(media)
    if as_json:
        print_json(result)
    else:
        texts = [part["text"] for part in result.get("content", []) if part.get("type") == "text"]
        text = "\n".join(texts)
        if failed:
            sys.stderr.write(text + "\n")
        else:
            print_text(text)
    if failed:
        code = result.get("_meta", {}).get(META_CODE)
        sys.exit(ALL[code].exit_code if code in ALL else Exit.ERROR)
