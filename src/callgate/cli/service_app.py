"""`callgate service install`: a systemd unit that runs this Callgate, as hardened as MCP servers allow.

The unit is written and nothing is started: what to type next is said. docs/deploy.md shows the unit.
"""

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from callgate.cli.options import ConfigOption
from callgate.cli.terminal import print_line
from callgate.model.error_codes import CALLER_BAD_ARGUMENTS, SETUP_CONFIG
from callgate.model.errors import CallerError, SetupError

service_app = typer.Typer(help="Run Callgate as a service of systemd.", no_args_is_help=True)

_UNIT = "callgate.service"
_HEADER = "# Written by: callgate service install"
_SYSTEM_FOLDER = Path("/etc/systemd/system")
_SYSTEM_CONFIG = Path("/etc/callgate/callgate.toml")
# A service of the system cannot look into them (ProtectHome).
_HOMES = (Path("/home"), Path("/root"), Path("/run/user"))

# Left out on purpose: MemoryDenyWriteExecute (Node, which runs most MCP servers, writes code and runs it),
# PrivateNetwork and IPAddressDeny (databases are elsewhere), ProcSubset=pid (Node reads /proc/meminfo).
_ALWAYS = """\
Type=exec
Restart=on-failure
RestartSec=2
# 2: wrong usage, 3: wrong configuration. Another start would end alike.
RestartPreventExitStatus=2 3
# `drain` of the configuration (15 s with [replicas]), 15 s for calls under way, and time for the record.
TimeoutStopSec=45
LimitNOFILE=65536
# One MCP server that takes too much memory does not take the gateway with it.
OOMPolicy=continue
UMask=0077
NoNewPrivileges=yes
LockPersonality=yes
RestrictRealtime=yes
RestrictSUIDSGID=yes
RestrictNamespaces=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK
SystemCallArchitectures=native
SystemCallFilter=@system-service
SystemCallErrorNumber=EPERM
"""
_HOME_LINES = ("# Where npx, uvx and their like keep things.", "Environment=HOME=%S/callgate")
_OF_THE_SYSTEM = """\
# A user of its own, made when the service starts. To use an account that exists: User=, and DynamicUser=no.
User=callgate
DynamicUser=yes
StateDirectory=callgate
StateDirectoryMode=0700
ProtectSystem=strict
ProtectHome=yes
ProtectProc=invisible
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
ProtectKernelTunables=yes
ProtectControlGroups=yes
PrivateDevices=yes
PrivateTmp=yes
PrivateUsers=yes
RemoveIPC=yes
KeyringMode=private
CapabilityBoundingSet=
AmbientCapabilities=
"""


@dataclass(frozen=True, slots=True)
class ServicePlan:
    program: Path
    config: Path | None  # None: the demo, and what the environment says
    environment_file: Path
    is_system: bool


def unit_text(plan: ServicePlan) -> str:
    config = f" --config {_quoted(plan.config)}" if plan.config is not None else ""
    state = " --state-dir %S/callgate" if plan.is_system else ""  # else commands find the usual folder
    lines = [
        _HEADER,
        "[Unit]",
        "Description=Callgate, one MCP endpoint in front of databases and MCP servers",
        *(["Wants=network-online.target", "After=network-online.target"] if plan.is_system else []),
        "StartLimitIntervalSec=60",
        "StartLimitBurst=10",
        "",
        "[Service]",
        f"ExecStart={_quoted(plan.program)} serve{config}{state} --log-format json --quiet --no-open",
        "ExecReload=/bin/kill -HUP $MAINPID",
        "# Variables for the configuration: CALLGATE_TOKEN=…, one a line. Only its owner should read it.",
        f"EnvironmentFile=-{_escaped(plan.environment_file)}",
        *(_HOME_LINES if plan.is_system else ()),
        *_ALWAYS.splitlines(),
        *(_OF_THE_SYSTEM.splitlines() if plan.is_system else []),
        "",
        "[Install]",
        f"WantedBy={'multi-user' if plan.is_system else 'default'}.target",
    ]
    return "\n".join(lines) + "\n"


def _escaped(path: Path) -> str:
    text = str(path)
    if not text.isprintable():
        raise CallerError(CALLER_BAD_ARGUMENTS, f"A unit cannot name the path {text!r}")
    return text.replace("%", "%%")


def _quoted(path: Path) -> str:
    text = _escaped(path).replace("\\", "\\\\").replace('"', '\\"').replace("$", "$$")
    return f'"{text}"' if any(mark in text for mark in " \"'\\;") else text


@service_app.command()
def install(
    is_system: Annotated[
        bool, typer.Option("--system", help="For the whole machine, with a user of its own. Needs root.")
    ] = False,
    prints: Annotated[bool, typer.Option("--print", help="Only print the unit.")] = False,
    config: ConfigOption = None,
) -> None:
    """Write a systemd unit for this Callgate, and say how to start it."""
    plan = _plan(config, is_system)
    text = unit_text(plan)
    if prints:
        sys.stdout.write(text)
        return
    path = _place(is_system)
    _write(path, text)
    systemctl = "systemctl" if is_system else "systemctl --user"
    print_line(f"Wrote {path}")
    print_line(f"  configuration  {plan.config or 'none: the demo shop'}")
    print_line(f"  variables      {plan.environment_file} (if there is one)")
    print_line("Start it now and with the machine:")
    print_line(f"  {systemctl} daemon-reload && {systemctl} enable --now callgate")
    if not is_system:
        print_line("Keep it running while you are logged out:  loginctl enable-linger")


def _plan(config: Path | None, is_system: bool) -> ServicePlan:
    from platformdirs import user_config_path

    from callgate.config.paths import installed_program
    from callgate.config.sources.file import search_paths

    program = installed_program()
    if program is None:
        hint = "Install it: python3 -m venv /opt/callgate && /opt/callgate/bin/pip install ."
        raise SetupError(SETUP_CONFIG, "There is no program callgate beside this Python", hint=hint)
    if is_system:
        found = (config or _SYSTEM_CONFIG).absolute()
        for path in (program, found):
            if any(path.is_relative_to(home) for home in _HOMES):
                hint = "Install it for all: python3 -m venv /opt/callgate && /opt/callgate/bin/pip install ."
                raise SetupError(SETUP_CONFIG, f"A service of the system cannot read {path}", hint=hint)
        return ServicePlan(program, found, _SYSTEM_CONFIG.with_name("environment"), is_system)
    found = config or next((path for path in search_paths() if path.exists()), None)
    environment_file = user_config_path("callgate") / "environment"
    return ServicePlan(program, found and found.absolute(), environment_file, is_system)


def _place(is_system: bool) -> Path:
    from platformdirs import user_config_path

    if sys.platform != "linux":
        hint = "callgate service install --print shows the unit for a machine that has it"
        raise SetupError(SETUP_CONFIG, "There is no systemd on this system", hint=hint)
    return (_SYSTEM_FOLDER if is_system else user_config_path("systemd") / "user") / _UNIT


def _write(path: Path, text: str) -> None:
    try:
        if path.exists() and not path.read_text(encoding="utf-8").startswith(_HEADER):
            hint = "Remove it first, or change it by hand: callgate service install --print"
            raise SetupError(SETUP_CONFIG, f"{path} was not written by this command", hint=hint)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except PermissionError:
        hint = "Run it as root, or: callgate service install --system --print | sudo tee FILE"
        raise SetupError(SETUP_CONFIG, f"No right to write {path}", hint=hint) from None
