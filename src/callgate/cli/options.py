"""The options that several commands share, written once: one by one, and in groups (`grouped`)."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal, get_type_hints

import typer

from callgate.cli.log import LogFormat, LogLevel

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file (default: ./callgate.toml, else the XDG one)."),
]
AddressesArgument = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[DATABASE]...",
        help="Serve these instead of a configuration: addresses (postgres://…) or files "
        "(SQLite, DuckDB, Parquet, CSV, JSON).",
    ),
]
HostOption = Annotated[str | None, typer.Option("--host", help="Address to listen on.")]
PortOption = Annotated[
    int | None,
    typer.Option("--port", "-p", min=0, max=65535, help="Port to listen on; 0 takes any free one."),
]
StateOption = Annotated[
    Path | None, typer.Option("--state-dir", help="Folder for the record and the address file.")
]
WorkersOption = Annotated[
    str | None,
    typer.Option("--workers", metavar="N", help="How many processes serve; auto is one a core (default: 1)."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Answer in JSON, for programs.")]
OpenOption = Annotated[
    bool | None,
    typer.Option("--open/--no-open", help="Open the web page in the browser once it is served."),
]
LogLevelOption = Annotated[
    LogLevel | None,
    typer.Option("--log-level", help="Lowest level that is logged (default: info; with --quiet: warning)."),
]
LogFormatOption = Annotated[
    LogFormat, typer.Option("--log-format", help="Lines of the log for people, or JSON for programs.")
]
StdioLogLevelOption = Annotated[
    LogLevel | None, typer.Option("--log-level", help="Lowest level that is logged (default: warning).")
]
QuietOption = Annotated[
    bool, typer.Option("--quiet", "-q", help="No greeting; only warnings and errors in the log.")
]
ServerOption = Annotated[str | None, typer.Option("--server", help="Of this server or source only.")]
ToolOption = Annotated[
    str | None, typer.Option("--tool", "-t", help="Of this tool only, as <server>__<tool>.")
]
_Session = Annotated[
    str | None, typer.Option("--session", "-s", help="Of this session only: its id, or its beginning or end.")
]
_Outcome = Annotated[
    Literal["answered", "tool_error", "refused", "failed", "cancelled", "lost"] | None,
    typer.Option("--outcome", help="Of this outcome only."),
]
_Client = Annotated[str | None, typer.Option("--client", help="Of this client only, as the list names it.")]
_Error = Annotated[
    str | None,
    typer.Option("--error", metavar="CODE", help="With this error code only, as refused.read_only."),
]
_SlowerThan = Annotated[
    str | None, typer.Option("--slower-than", metavar="DURATION", help="That long or longer: 500ms, 2s, 1m.")
]
SortOption = Annotated[
    Literal[
        "newest",
        "oldest",
        "slowest",
        "fastest",
        "most_tokens",
        "fewest_tokens",
        "most_rows",
        "fewest_rows",
    ],
    typer.Option("--sort", help="What comes first."),
]
_Since = Annotated[str | None, typer.Option("--since", help="15m, 2h, 1d ago; or a date and time.")]
_Until = Annotated[str | None, typer.Option("--until", help="The same; exclusive.")]
_Text = Annotated[str | None, typer.Option("--text", "-q", help="In bodies, SQL, errors or names.")]


@dataclass(frozen=True, slots=True)
class ServeOptions:
    config: ConfigOption = None
    host: HostOption = None
    port: PortOption = None
    state_dir: StateOption = None
    workers: WorkersOption = None
    as_json: JsonOption = False
    opens: OpenOption = None
    log_level: LogLevelOption = None
    log_format: LogFormatOption = LogFormat.TEXT
    quiet: QuietOption = False


@dataclass(frozen=True, slots=True)
class CallFilter:
    """Which calls, as the person wrote it."""

    session: _Session = None
    server: ServerOption = None
    tool: ToolOption = None
    outcome: _Outcome = None
    client: _Client = None
    error: _Error = None
    slower_than: _SlowerThan = None
    since: _Since = None
    until: _Until = None
    text: _Text = None


def grouped(command: Callable[..., None]) -> Callable[..., None]:
    """A parameter whose type is one of these groups stands for the group's options: typer sees them."""
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []
    for parameter in inspect.signature(command).parameters.values():
        kind = hints[parameter.name]
        if is_dataclass(kind):
            groups[parameter.name] = kind
            own = get_type_hints(kind, include_extras=True)
            shown += [_parameter(field.name, own[field.name], field.default) for field in fields(kind)]
        else:
            shown.append(_parameter(parameter.name, kind, parameter.default))

    def run(**given: Any) -> None:
        made = {
            name: kind(**{field.name: given.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        command(**made, **given)

    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    run.__dict__["__signature__"] = inspect.Signature(shown)
    return run


def _parameter(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=kind, default=default)
