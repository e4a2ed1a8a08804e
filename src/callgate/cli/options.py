"""The options that several commands share, written once."""

from pathlib import Path
from typing import Annotated

import typer

from callgate.cli.log import LogFormat, LogLevel

ConfigOption = Annotated[
    Path | None,
    typer.Option("--config", "-c", help="Configuration file (default: ./callgate.toml, else the XDG one)."),
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
