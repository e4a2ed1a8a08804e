"""Run as the child of a confined server: gives up rights, then becomes the program. Same process, same pid.

    python -I -S become.py PLAN PROGRAM ARGUMENT…

Knows the standard library alone: it runs without our packages. It decides nothing: PLAN is JSON that
`confine.py` made. Whatever cannot be done ends it, with a sentence on stderr and `FAILED`: no program runs
with less than the whole sandbox.

Order: paths are opened while we may open them, then capabilities go, then Landlock, then the filter.

The program's variables arrive under other names (`VARIABLE`): LD_LIBRARY_PATH and its like could name a
folder that the program wrote to, and would hold for this interpreter before anything is confined.
"""

import base64
import ctypes
import json
import os
import signal
import struct
import sys
from typing import Any

FAILED = 125
SIGN = "callgate sandbox: "
VARIABLE = "CALLGATE_PROGRAM_"

_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_RULE_PATH_BENEATH = 1
_NO_NEW_PRIVILEGES, _DROP_FROM_BOUNDING_SET, _AMBIENT, _AMBIENT_CLEAR_ALL = 38, 24, 47, 4
_CAPABILITIES_VERSION_3 = 0x20080522
_SET_MODE_FILTER = 1
_LAST_CAPABILITY = 63

_libc = ctypes.CDLL(None, use_errno=True)


class _Failed(Exception):  # noqa: N818 - it never leaves this file
    pass


def _call(what: str, number: int, *arguments: Any) -> int:
    longs = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result: int = _libc.syscall(ctypes.c_long(number), *longs)
    if result < 0:
        raise _Failed(f"{what} failed: {os.strerror(ctypes.get_errno())}")
    return result


def _prctl(*arguments: int) -> int:
    padded = (*arguments, 0, 0, 0, 0)[:5]
    return _libc.prctl(*map(ctypes.c_ulong, padded))


def _file_rules(plan: dict[str, Any]) -> int:
    attributes = base64.b64decode(plan["ruleset"])
    ruleset = _call("making the Landlock rules", _CREATE_RULESET, attributes, len(attributes), 0)
    for path, rights in plan["grants"]:
        try:
            descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:  # it has gone since: then there is nothing to allow
            continue
        rule = ctypes.create_string_buffer(struct.pack("=Qi", rights, descriptor))
        _call(f"the rule for {path}", _ADD_RULE, ruleset, _RULE_PATH_BENEATH, rule, 0)
        os.close(descriptor)
    return ruleset


def _drop_capabilities(capset: int) -> None:
    """Also of root, who would get them back from the bounding set with the next program."""
    for capability in range(_LAST_CAPABILITY + 1):
        _prctl(_DROP_FROM_BOUNDING_SET, capability)  # fails where there are none, and where it is unknown
    _prctl(_AMBIENT, _AMBIENT_CLEAR_ALL)
    header = ctypes.create_string_buffer(struct.pack("=Ii", _CAPABILITIES_VERSION_3, 0))
    _call("giving up capabilities", capset, header, ctypes.create_string_buffer(24))


def _filter_calls(number: int, program: bytes) -> None:
    code = ctypes.create_string_buffer(program, len(program))
    description = struct.pack("@HP", len(program) // 8, ctypes.addressof(code))
    _call("the filter of system calls", number, _SET_MODE_FILTER, 0, ctypes.create_string_buffer(description))


def _become(plan: dict[str, Any], program: str, arguments: list[str]) -> None:
    ruleset = _file_rules(plan)
    if _prctl(_NO_NEW_PRIVILEGES, 1) != 0:
        raise _Failed("no_new_privs cannot be set")
    _drop_capabilities(plan["capset"])
    _call("Landlock", _RESTRICT_SELF, ruleset, 0)
    os.close(ruleset)
    environment = {
        name.removeprefix(VARIABLE): value for name, value in os.environ.items() if name.startswith(VARIABLE)
    }
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and a program inherits that
        signal.signal(number, signal.SIG_DFL)
    _filter_calls(plan["seccomp"], base64.b64decode(plan["filter"]))
    try:
        os.execve(program, [program, *arguments], environment)  # noqa: S606 - what this file is for
    except OSError as problem:
        raise _Failed(f"{program} could not be started: {problem.strerror}") from problem


def _main() -> None:
    try:
        _become(json.loads(sys.argv[1]), sys.argv[2], sys.argv[3:])
    except _Failed as problem:
        sys.stderr.write(f"{SIGN}{problem}\n")
    sys.stderr.flush()
    os._exit(FAILED)


if __name__ == "__main__":
    _main()
