"""What to start for a stdio server, the environment it gets, and the sentence when it does not start.

Owns the border between our environment and a child's. Must not know pipes, signals or the protocol.
"""

import errno
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from callgate.model.error_codes import UPSTREAM_EXITED, UPSTREAM_UNAVAILABLE
from callgate.model.errors import UpstreamError
from callgate.sandbox.confine import Sandbox, confined_start
from callgate.upstreams.hide_secrets import Hide, as_it_is

# What a program needs to find its interpreter, its user's files and its language, and nothing else: our own
# environment holds tokens and database passwords (CALLGATE_TOKEN, DSNs), and a server gets only the secrets
# that its operator wrote under its `env`. Proxies are left out too: their addresses carry passwords.
PASSED_NAMES: Final = frozenset(
    ("HOME", "LANG", "LANGUAGE", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "TZ", "USER")
)
PASSED_PREFIXES: Final = ("LC_", "XDG_")

_SHORTAGES: Final = (errno.EAGAIN, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.ETXTBSY)


@dataclass(frozen=True, slots=True)
class ChildCommand:
    """repr shows neither `args` nor `env`: both are where people put keys."""

    name: str  # the server's name in the configuration; it opens every message about this child
    command: str
    args: tuple[str, ...] = field(default=(), repr=False)
    env: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    cwd: Path | None = None
    hide: Hide = field(default=as_it_is, repr=False)  # of what the program says on its stderr
    sandbox: Sandbox | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """What is really run; repr shows none of it."""

    argv: list[str] = field(repr=False)
    environment: dict[str, str] = field(repr=False)
    cwd: Path | None


def launch_of(command: ChildCommand, environment: dict[str, str]) -> Launch:
    """Raises ServerSetupError for a sandbox that cannot be had, and FileNotFoundError."""
    argv, cwd = [command.command, *command.args], command.cwd
    if command.sandbox is not None:
        argv, environment = confined_start(command.name, command.sandbox, argv, environment, cwd)
        cwd = cwd or command.sandbox.home
    return Launch(argv, environment, cwd)


def environment_of(command: ChildCommand, ours: Mapping[str, str]) -> dict[str, str]:
    """The safe base out of `ours`, then what the operator wrote, which wins."""
    base = {
        name: value
        for name, value in ours.items()
        if (name in PASSED_NAMES or name.startswith(PASSED_PREFIXES))
        and not value.startswith("()")  # an exported shell function is code, not a value (Shellshock)
    }
    if command.sandbox is not None:
        return command.sandbox.environment(base, command.env)
    return base | dict(command.env)


def start_failure(command: ChildCommand, failure: OSError | ValueError, path: str | None) -> UpstreamError:
    """Looked into after the fact: the system's error does not say whether folder or program is missing."""
    # A shortage of the machine may pass; a wrong command ends the same way however often it is tried.
    code = UPSTREAM_UNAVAILABLE if getattr(failure, "errno", None) in _SHORTAGES else UPSTREAM_EXITED
    why, hint = _why(command, failure, path)
    return UpstreamError(code, f"{command.name} could not be started: {command.hide(why)}", hint=hint)


def _why(command: ChildCommand, failure: OSError | ValueError, path: str | None) -> tuple[str, str]:
    program = command.command
    if isinstance(failure, ValueError):  # its own text could quote a value
        return "its command, arguments or environment are not valid", (
            "Look for a NUL character, or for '=' in the name of a variable."
        )
    if command.cwd is not None and not os.access(command.cwd, os.X_OK):
        return f"its folder {command.cwd} cannot be entered", f"Correct `cwd` of the server {command.name}."
    if isinstance(failure, FileNotFoundError):
        if os.sep not in program and shutil.which(program, path=path) is None:
            return f"{program} was not found", (
                "Install it, write its full path as `command`, or set PATH in `env`."
            )
        # The child changes into its folder before it becomes the program: a relative path starts there.
        if os.sep in program and not ((command.cwd or Path()) / program).exists():
            return f"{program} does not exist", f"Correct `command` of the server {command.name}."
        return f"{program} names an interpreter that does not exist", "See its first line (#!)."
    if isinstance(failure, (PermissionError, NotADirectoryError)):
        return f"{program} may not be executed", (
            "Make it executable (chmod +x), or name its interpreter as `command`."
        )
    if failure.errno == errno.ENOEXEC:
        return f"{program} is not a program", (
            "A script needs a first line such as #!/bin/sh, or its interpreter as `command`."
        )
    return f"the system refused it ({os.strerror(failure.errno or 0)})", ""
