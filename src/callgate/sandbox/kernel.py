"""What this kernel can do to confine a program, and the sentence when it cannot."""

import ctypes
import platform
import sys
from dataclasses import dataclass
from typing import Final

from callgate.sandbox.syscall_numbers import MACHINES

# Truncating a file by its path is held from version 3 on; before, a confined program could empty any file.
LEAST_LANDLOCK: Final = 3
SCOPES_SINCE: Final = 6  # signals to processes outside
_CREATE_RULESET: Final = 444  # the same number on every machine
_VERSION: Final = 1
_GET_ACTION_AVAIL: Final = 2
_KILL_PROCESS: Final = 0x80000000


@dataclass(frozen=True, slots=True)
class KernelAbilities:
    system: str  # "linux", "darwin", …
    machine: str  # "x86_64", "aarch64", …
    landlock: int  # the version of its interface; 0: it has none
    has_seccomp: bool

    @property
    def obstacle(self) -> str:
        """Why nothing can be confined here; empty if it can."""
        if self.system != "linux":
            return f"a sandbox needs Linux, and this is {self.system}"
        if self.machine not in MACHINES:
            return f"a sandbox is made for {' and '.join(MACHINES)}, and this machine is {self.machine}"
        if not self.landlock:
            return "this kernel has no Landlock, or it is switched off (boot parameter lsm=)"
        if self.landlock < LEAST_LANDLOCK:
            return f"this kernel has Landlock {self.landlock}; a sandbox needs {LEAST_LANDLOCK} (Linux 6.2)"
        return "" if self.has_seccomp else "this kernel has no seccomp filters"

    @property
    def gaps(self) -> str:
        """What a sandbox does not hold on this kernel, although it does on newer ones."""
        if self.obstacle or self.landlock >= SCOPES_SINCE:
            return ""
        return "signals to other processes of this user are not refused (Linux 6.12 does)"


def kernel_abilities() -> KernelAbilities:
    """Asked each time: it takes microseconds."""
    machine = platform.machine()
    if sys.platform != "linux":
        return KernelAbilities(sys.platform, machine, 0, has_seccomp=False)
    libc = ctypes.CDLL(None)
    version: int = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), ctypes.c_uint32(_VERSION))
    numbers = MACHINES.get(machine)
    has_seccomp = False
    if numbers is not None:
        action = ctypes.byref(ctypes.c_uint32(_KILL_PROCESS))
        has_seccomp = (
            libc.syscall(numbers.seccomp, ctypes.c_uint(_GET_ACTION_AVAIL), ctypes.c_uint(0), action) == 0
        )
    return KernelAbilities("linux", machine, max(0, version), has_seccomp)
