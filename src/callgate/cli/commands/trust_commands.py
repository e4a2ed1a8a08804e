"""`callgate trust …`: what servers changed of what was accepted, and the operator's word on it.

Through the gateway that runs, else through one that is made for the occasion.
"""

import asyncio
import sys
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, cast

import typer

from callgate.cli.options import ConfigOption, JsonOption, StateOption
from callgate.cli.terminal import Exit, confirmed, print_json, print_line, stderr
from callgate.model.error_codes import CALLER_NOT_FOUND
from callgate.model.errors import CallerError
from callgate.model.near_miss import did_you_mean
from callgate.model.terminal_text import one_safe_line
from callgate.model.wording import counted

_Json = dict[str, Any]
_SIGNS = {"new": "+", "changed": "~", "gone": "-", "blocked": "x"}
_DONE = {"accept": "accepted", "block": "blocked", "unblock": "not blocked any more"}
_SINGLE = {"instructions": "instructions", "server": "server name"}  # there is one of it for each server
_MAX_EXCERPT_CHARS = 100
ServerArgument = Annotated[str, typer.Argument(help="The server, as its entry is called.")]
NamesArgument = Annotated[
    list[str], typer.Argument(help="Tools, prompts, or templates by their address.", metavar="NAMES...")
]

trust_app = typer.Typer(help="See, accept and block what servers changed of their tools.")


@trust_app.callback(invoke_without_command=True)
def trust(
    context: typer.Context,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare with callgate.lock and write nothing; 6 if anything differs."),
    ] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what servers changed of what was accepted. Exit code 6: something is held."""
    if context.invoked_subcommand is not None:
        return
    told = _ask_all(config, state_dir, accepts=not check)
    if as_json:
        print_json(told)
    else:
        _print_all(told)
    differs = told["held"] or (check and (told["changed"] or told["problem"]))
    raise typer.Exit(Exit.REFUSED if differs else Exit.OK)


@trust_app.command()
def diff(
    server: Annotated[str | None, typer.Argument(help="One server; all if left out.")] = None,
    tool: Annotated[str | None, typer.Argument(help="One tool, prompt or template of it.")] = None,
    config: ConfigOption = None,
    state_dir: StateOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was accepted and what is said now, line by line. Exit code 6: something is held."""
    servers = _ask_whole(config, state_dir, server)
    if tool is not None:
        for one in servers:
            one["items"] = _named(one, [tool])
    if as_json:
        print_json({"servers": servers})
    else:
        if not any(one["items"] for one in servers):
            stderr().print("Nothing differs from what was accepted.", markup=False)
        for one in servers:
            for item in one["items"]:
                for line in _diff_lines(one["server"], item):
                    print_line(line)
    is_held = any(item["held"] for one in servers for item in one["items"])
    raise typer.Exit(Exit.REFUSED if is_held else Exit.OK)


@trust_app.command()
def accept(
    server: ServerArgument,
    names: Annotated[
        list[str] | None, typer.Argument(help="Tools, prompts, templates; all that wait if none.")
    ] = None,
    is_sure: Annotated[
        bool, typer.Option("--yes", "-y", help="Accept what the server says now, without showing it.")
    ] = False,
    config: ConfigOption = None,
    state_dir: StateOption = None,
) -> None:
    """Accept changes: callers get them from now on, and callgate.lock has them. At a terminal they are shown
    first."""
    _answer("accept", server, names or [], config, state_dir, is_sure=is_sure)


@trust_app.command()
def block(
    server: ServerArgument,
    names: NamesArgument,
    config: ConfigOption = None,
    state_dir: StateOption = None,
) -> None:
    """Block tools, prompts or resource templates: callers do not know of them from now on."""
    _answer("block", server, names, config, state_dir)


@trust_app.command()
def unblock(
    server: ServerArgument,
    names: NamesArgument,
    config: ConfigOption = None,
    state_dir: StateOption = None,
) -> None:
    """Take a block back: what was accepted counts again, and what never was is new."""
    _answer("unblock", server, names, config, state_dir)


# ---- asking


def _ask_all(config: Any, state_dir: Any, *, accepts: bool) -> _Json:
    async def ask(api: Any) -> _Json:
        return await api.get("trust")

    return _with_api(config, state_dir, ask, accepts=accepts)


def _ask_whole(config: Any, state_dir: Any, server: str | None) -> list[_Json]:
    async def ask(api: Any) -> list[_Json]:
        names = (
            [server] if server is not None else [one["server"] for one in (await api.get("trust"))["servers"]]
        )
        return list(await asyncio.gather(*(api.get("trust", name) for name in names)))

    return _with_api(config, state_dir, ask, accepts=True)


def _answer(
    act: str, server: str, names: list[str], config: Any, state_dir: Any, *, is_sure: bool = True
) -> None:
    async def ask(api: Any) -> list[_Json] | None:
        told = await api.get("trust", server)
        items = _named(told, names) if act == "accept" else _known(told, names)
        if items and not is_sure and not _wants(server, items):
            return None
        if items:
            body = {
                "items": [
                    {"kind": one["kind"], "name": one["name"], "digest": one.get("digest", "")}
                    for one in items
                ]
            }
            await api.post("trust", server, act, body=body)
        return items

    items = _with_api(config, state_dir, ask, accepts=True)
    if items is None:
        stderr().print("Nothing was accepted.", markup=False)
        return
    if not items:
        stderr().print("Nothing waits to be accepted.", markup=False)
    for item in items:
        print_line(f"{server}: {_called(item)} is {_DONE[act]}")


def _wants(server: str, items: Sequence[_Json]) -> bool:
    """What a person saw before may be another one by now: a server knows when it is asked. What is accepted
    is what is shown here."""
    if sys.stdin is None or not sys.stdin.isatty():  # a program is not asked
        return True
    for item in items:
        for line in _diff_lines(server, item):
            print_line(line)
    return confirmed(f"Accept {counted(len(items), 'change')}?", is_sure=False)


def _with_api(config: Any, state_dir: Any, ask: Any, *, accepts: bool) -> Any:
    from callgate.app.commands.record_access import calling_api
    from callgate.app.loop import run_loop
    from callgate.app.setup.loading import load_config
    from callgate.cli.commands.tools_command import started_servers
    from callgate.cli.log import log_to_stderr
    from callgate.config.sources.flags import Flags

    async def run() -> Any:
        loaded = load_config(Flags(config=config, state_dir=state_dir))
        async with calling_api(loaded, accepts=accepts) as api:
            await started_servers(api)
            return await ask(api)

    log_to_stderr()
    return run_loop(run())


def _named(told: _Json, names: Sequence[str]) -> list[_Json]:
    """Those items; of none, all that are new or changed."""
    items: list[_Json] = told["items"]
    if not names:
        return [one for one in items if one["change"] in ("new", "changed", "gone")]
    return _fitting(told["server"], names, items, "is as it was accepted, or there is no such thing")


def _known(told: _Json, names: Sequence[str]) -> list[_Json]:
    """Whatever the server has under these names, changed or not."""
    known = [*told["names"], *(one for one in told["items"] if one["kind"] in _SINGLE)]
    return _fitting(told["server"], names, known, "is no tool, prompt or template of it")


def _fitting(server: str, names: Sequence[str], known: Sequence[_Json], problem: str) -> list[_Json]:
    found: list[_Json] = []
    for name in names:
        fitting = [one for one in known if name == _plain_name(one)]
        if not fitting:
            hint = did_you_mean(name, map(_plain_name, known)) or f"See callgate trust diff {server}"
            raise CallerError(CALLER_NOT_FOUND, f"{server}: {name[:100]} {problem}", hint=hint)
        found += fitting
    return found


def _plain_name(item: _Json) -> str:
    return _SINGLE.get(item["kind"]) or item["name"]


# ---- telling


def _print_all(told: _Json) -> None:
    if told["problem"]:
        stderr().print(one_safe_line(told["problem"]), markup=False)
    if not told["servers"]:
        stderr().print(
            'No server\'s tools are pinned: there is none, or each has trust = "free".', markup=False
        )
    for one in told["servers"]:
        print_line(f"{one['server']}   {counted(one['pinned'], 'definition')} accepted   {_sums(one)}")
        for item in one["items"]:
            found = dict.fromkeys(flaw["words"] for flaw in item["findings"] if flaw["holds"])
            tail = f"   scan: {', '.join(found)}" if found else ""
            print_line(f"  {_SIGNS[item['change']]} {_called(item)}   {item['change']}{_held(item)}{tail}")


def _sums(one: _Json) -> str:
    changes = [item["change"] for item in one["items"]]
    told = [f"{changes.count(change)} {change}" for change in _SIGNS if change in changes]
    return ", ".join(told) + ("   held" if one["held"] else "") if told else "as accepted"


def _held(item: _Json) -> str:
    return ", held" if item["held"] else ""


def _called(item: _Json) -> str:
    name = one_safe_line(_plain_name(item))
    return f"{item['kind']} {name}" if item["kind"] in ("prompt", "template") else name


def _diff_lines(server: str, item: _Json) -> Iterator[str]:
    from difflib import unified_diff

    yield f"{server}   {_called(item)}   {item['change']}{_held(item)}"
    for flaw in item["findings"]:
        tier = "held" if flaw["holds"] else "note"
        excerpt = flaw["excerpt"][:_MAX_EXCERPT_CHARS]
        yield f"  {tier}: {flaw['words']} in {flaw['where'] or 'the definition'}: {excerpt}"
    before, after = _as_lines(item["accepted"]), _as_lines(item["now"])
    for line in list(unified_diff(before, after, lineterm="", n=2))[2:]:
        yield f"  {line}"
    yield ""


def _as_lines(definition: Any, place: str = "") -> list[str]:
    """A line for each value, and for each line of a text: what changed is seen at once."""
    if definition is None:
        return []
    if isinstance(definition, dict):
        members = cast("_Json", definition)
        return [
            line
            for name in sorted(members)
            for line in _as_lines(members[name], f"{place}.{name}".strip("."))
        ]
    if isinstance(definition, list):
        entries = cast("list[Any]", definition)
        return [line for at, one in enumerate(entries) for line in _as_lines(one, f"{place}[{at}]")]
    told = definition if isinstance(definition, str) else str(definition).lower()
    return [f"{place}: {line}" if place else line for line in told.splitlines() or [""]]
