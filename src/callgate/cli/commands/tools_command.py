"""`callgate tools`: what is on offer, and what it costs in a client's context.

Through the gateway that runs, else through one that is made for the occasion.
"""

import asyncio
from typing import Any

from callgate.app.commands.api_client import ApiClient
from callgate.app.commands.record_access import calling_api
from callgate.app.loop import run_loop
from callgate.app.setup.loading import load_config
from callgate.app.telling.tool_cost import MANY_TOKENS
from callgate.cli.log import log_to_stderr
from callgate.cli.tables import TableColumn, print_table
from callgate.cli.terminal import ProgressLine, print_json, stderr
from callgate.cli.tool_help import print_tool
from callgate.config.sources.flags import Flags
from callgate.model.wording import clip, counted

_Json = dict[str, Any]
_COLUMNS = (
    TableColumn("tokens", is_number=True),
    TableColumn("tool", shrinks=True),
    TableColumn("server", is_spare=True),
    TableColumn("description", shrinks=True, is_spare=True),
)
# Servers that are started for the occasion; what takes longer is told of as missing.
_PATIENCE_S = 60.0
_EVERY_S = 0.1
_MAX_DESCRIPTION_CHARS = 200
_HINT = (
    "[server] tool_search = true lists two tools in place of all (find_tools and call_tool); "
    'tools = { leave_out = ["…"] } on a server leaves some out'
)


def run_tools(flags: Flags, words: str, server: str | None, as_json: bool) -> None:
    log_to_stderr()
    answer = run_loop(_ask(flags, words, server))
    if (whole := answer.get("whole")) is not None:
        if as_json:
            print_json(whole)
        else:
            print_tool(whole)
        return
    if as_json:
        print_json(answer)
        return
    rows = [(tool["tokens"], tool["name"], tool["server"], tool["description"]) for tool in answer["tools"]]
    print_table(_COLUMNS, rows)
    _say_sums(answer, is_search=bool(words))


async def _ask(flags: Flags, words: str, server: str | None) -> _Json:
    async with calling_api(load_config(flags)) as api:
        servers = await started_servers(api, server)
        if server is not None:
            await api.get("servers", server)  # else: an error that names those that there are
        answer = await api.get("tools", q=words or None, server=server)
    named = next((tool for tool in answer["tools"] if tool["name"] == words), None)
    if named is not None:
        return {"whole": {**named, "inputSchema": named["input_schema"]}}
    tools = [_short(tool) for tool in answer["tools"]]
    if not words:
        tools.sort(key=lambda tool: (-tool["tokens"], tool["name"]))
    return {
        "tools": tools,
        "total": answer["total"],
        "tokens": answer["tokens"],
        "tool_search": answer["tool_search"],
        "servers": [
            {"name": one["name"], "state": one["state"], "tools": len(one["tools"]), "tokens": one["tokens"]}
            for one in sorted(servers, key=lambda one: (-one["tokens"], one["name"]))
        ],
    }


async def started_servers(api: ApiClient, only: str | None = None) -> list[_Json]:
    """Once none of them is starting any more, or our patience is over."""
    progress = ProgressLine()
    try:
        async with asyncio.timeout(_PATIENCE_S):
            while True:
                told = (await api.get("servers"))["servers"]
                servers: list[_Json] = [one for one in told if only in (None, one["name"])]
                starting = [one["name"] for one in servers if one["state"] == "starting"]
                if not starting:
                    return servers
                progress.show(f"waiting for {', '.join(starting)}")
                await asyncio.sleep(_EVERY_S)
    except TimeoutError:
        return [one for one in (await api.get("servers"))["servers"] if only in (None, one["name"])]
    finally:
        progress.clear()


def _short(tool: _Json) -> _Json:
    description = " ".join((tool["description"] or tool["title"] or "").split())
    return {
        "name": tool["name"],
        "server": tool["server"],
        "tokens": tool["tokens"],
        "description": clip(description, _MAX_DESCRIPTION_CHARS),
    }


def _say_sums(answer: _Json, is_search: bool) -> None:
    """To the person, not into what is piped."""
    console = stderr()
    for one in answer["servers"]:
        state = "" if one["state"] == "up" else f" ({one['state']})"
        console.print(
            f"{one['name']}{state}: {counted(one['tools'], 'tool')}, {one['tokens']:,} tokens",
            style="dim",
            markup=False,
        )
    if is_search:
        of = counted(sum(one["tools"] for one in answer["servers"]), "tool")
        sums = f"{answer['total']:,} of {of} found, {answer['tokens']:,} tokens"
    else:
        about = "tool_search lists none of it" if answer["tool_search"] else "in every client's context"
        sums = f"{counted(answer['total'], 'tool')}, {answer['tokens']:,} tokens: {about}"
    console.print(sums, markup=False)
    if len(answer["tools"]) < answer["total"]:
        console.print(
            f"Only the first {len(answer['tools']):,} are shown: --server shows those of one", style="dim"
        )
    if answer["tokens"] > MANY_TOKENS and not answer["tool_search"] and not is_search:
        console.print(_HINT, markup=False)
