"""`callgate servers` and `callgate status`: how the gateway and what is behind it are, at the terminal."""

import time
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from callgate.app.commands.record_access import calling_api, not_running, running_api
from callgate.app.loop import run_loop
from callgate.app.principals import bearer_tokens
from callgate.app.running import find_running
from callgate.app.setup.loading import config_of_running, load_config
from callgate.cli.commands.tools_command import started_servers
from callgate.cli.log import log_to_stderr
from callgate.cli.tables import TableColumn, milliseconds, moment, print_table
from callgate.cli.terminal import print_json, print_line, say
from callgate.config.paths import state_folder
from callgate.config.problem import ConfigProblems
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config
from callgate.model.errors import CallgateError
from callgate.model.wording import counted

_Json = dict[str, Any]
_SOON_S = 7 * 24 * 3600.0
_COLUMNS = (
    TableColumn("server"),
    TableColumn("state"),
    TableColumn("since", is_spare=True),
    TableColumn("tools", is_number=True),
    TableColumn("calls 1 h", is_number=True, is_spare=True),
    TableColumn("errors", is_number=True, is_spare=True),
    TableColumn("p95 ms", is_number=True, is_spare=True),
    TableColumn("detail", shrinks=True),
)


def run_servers(flags: Flags, as_json: bool) -> None:
    """Through the gateway that runs, else through one that is made for the occasion."""

    async def ask() -> list[_Json]:
        async with calling_api(load_config(flags)) as api:
            return await started_servers(api)

    log_to_stderr()
    servers = run_loop(ask())
    if as_json:
        print_json({"servers": servers})
        return
    print_table(_COLUMNS, [_row(one) for one in servers])


def _row(server: _Json) -> tuple[Any, ...]:
    recent: _Json = server["recent"] or {}
    return (
        server["name"],
        server["state"],
        moment(server["since"]),
        len(server["tools"]),
        recent.get("calls", ""),
        recent.get("errors", ""),
        milliseconds(recent.get("p95_ms")),
        server["detail"],
    )


def run_status(flags: Flags, as_json: bool) -> None:
    """Raises SetupError when no gateway runs on the state folder, and CallgateError when it does not tell."""
    config, problems = config_of_running(flags)
    running = find_running(state_folder(config))

    async def ask() -> tuple[_Json, list[_Json], _Json]:
        async with running_api(config) as api:
            if api is None:
                raise not_running()
            servers = (await api.get("servers"))["servers"]
            return await api.get("about"), servers, await api.get("settings")

    log_to_stderr()
    try:
        about, servers, settings = run_loop(ask())
    except CallgateError:
        if running is not None:
            say(f"A gateway runs at {running.url}/ (pid {running.pid}), but does not say how it is.")
        for problem in problems.problems if problems is not None else ():
            say(f"✗ {problem}")
        raise
    needs = [*_needs_of_file(settings, problems), *_needs_of_servers(servers), *_needs_of_tokens(config)]
    if as_json:
        process = running and {"pid": running.pid, "url": running.url}
        told = {"process": process, "about": about, "servers": servers, "settings": settings, "needs": needs}
        print_json(told)
        return
    if running is not None:
        print_line(f"Callgate {about['version']} runs at {running.url}/ (pid {running.pid})")
    print_line(f"  since    {moment(about['started_at'])}")
    print_line(f"  record   {_record_in_words(about['record'])}")
    up = sum(one["state"] == "up" for one in servers)
    print_line(f"  servers  {up} of {len(servers)} up, {_tools_of(servers)}")
    for need in needs:
        print_line(f"  ✗ {need['text']}")
    if not needs:
        print_line("  ✓ nothing needs you")


def _needs_of_file(settings: _Json, problems: ConfigProblems | None) -> Iterator[_Json]:
    if problems is not None:
        yield from (_need("file", one.key_path, str(one)) for one in problems.problems)
    elif settings["problem"] is not None:
        yield _need("file", "", settings["problem"])
    if settings["needs_restart"]:
        named = ", ".join(settings["needs_restart"])
        yield _need("restart", named, f"these changes of the file need a new start: {named}")


def _needs_of_servers(servers: list[_Json]) -> Iterator[_Json]:
    for one in servers:
        name = one["name"]
        if one["state"] != "up":
            yield _need("server", name, f"{name} is {one['state']}: {one['detail']}")
        if one["held"]:
            said = f"{counted(one['held'], 'change')} of {name} held: callgate trust diff {name}"
            yield _need("held", name, said)


def _needs_of_tokens(config: Config) -> Iterator[_Json]:
    now_s = time.time()
    for token in bearer_tokens(config):
        if token.expires_s is None or token.expires_s > now_s + _SOON_S:
            continue
        name, day = token.principal.name, datetime.fromtimestamp(token.expires_s, UTC).date()
        said = f"has expired on {day}" if token.expires_s <= now_s else f"expires on {day}"
        hint = f"callgate token add {name} --replace --role {token.principal.role.word}"
        yield _need("token", name, f"the token of {name} {said}: {hint}")


def _need(kind: str, name: str, text: str) -> _Json:
    return {"kind": kind, "name": name, "text": text}


def _tools_of(servers: list[_Json]) -> str:
    return counted(sum(len(one["tools"]) for one in servers), "tool")


def _record_in_words(record: _Json) -> str:
    if not record["enabled"]:
        return "off"
    if record["problem"] is not None:
        return f"✗ {record['problem']}"
    said = f"{counted(record['events'] or 0, 'event')} in {counted(record['sessions'] or 0, 'session')}"
    if record["size_bytes"] is not None:
        said += f", {record['size_bytes'] / 1e6:,.1f} MB"
    return said + (f", {record['gap_events']} not recorded" if record["gap_events"] else "")
