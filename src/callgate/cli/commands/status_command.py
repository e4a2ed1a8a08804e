"""`callgate servers` and `callgate status`: how the gateway and what is behind it are, at the terminal."""

from typing import Any

from callgate.app.commands.record_access import calling_api, live_api
from callgate.app.loop import run_loop
from callgate.app.running import find_running
from callgate.app.setup.loading import load_config
from callgate.cli.commands.tools_command import started_servers
from callgate.cli.log import log_to_stderr
from callgate.cli.tables import TableColumn, milliseconds, moment, print_table
from callgate.cli.terminal import print_json, print_line
from callgate.config.paths import state_folder
from callgate.config.sources.flags import Flags
from callgate.model.wording import counted

_Json = dict[str, Any]
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
    """Raises SetupError when no gateway runs on the state folder."""
    loaded = load_config(flags)

    async def ask() -> tuple[_Json, list[_Json], _Json]:
        async with live_api(loaded) as api:
            servers = (await api.get("servers"))["servers"]
            return await api.get("about"), servers, await api.get("settings")

    log_to_stderr()
    about, servers, settings = run_loop(ask())
    running = find_running(state_folder(loaded.config))
    if as_json:
        process = running and {"pid": running.pid, "url": running.url}
        print_json({"process": process, "about": about, "servers": servers, "settings": settings})
        return
    if running is not None:
        print_line(f"Callgate {about['version']} runs at {running.url}/ (pid {running.pid})")
    print_line(f"  since    {moment(about['started_at'])}")
    print_line(f"  record   {_record_in_words(about['record'])}")
    down = [one for one in servers if one["state"] != "up"]
    print_line(f"  servers  {len(servers) - len(down)} of {len(servers)} up, {_tools_of(servers)}")
    if settings["problem"] is not None:
        print_line(f"  ✗ {settings['problem']}")
    if settings["needs_restart"]:
        print_line(f"  ✗ these changes of the file need a new start: {', '.join(settings['needs_restart'])}")
    for one in down:
        print_line(f"  ✗ {one['name']} is {one['state']}: {one['detail']}")


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
