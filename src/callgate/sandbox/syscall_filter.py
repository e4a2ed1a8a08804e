"""The seccomp filter of a confined program, as the kernel takes it. Pure.

Rules
1. Another architecture (i386, x32) has other numbers for the same calls: whoever uses one is killed.
2. A call that came after our table is unknown (ENOSYS): programs then do without it.
3. What reaches into other processes, changes mounts, namespaces, keys, modules or clocks is refused (EPERM),
   and so is what would leave the process group, by which the gateway ends everything.
4. Sockets: of the internet only with `network`, TCP and UDP alone. Never a Unix socket: whoever may connect
   to one by its path reaches our own local socket, the container engine's and the session bus. A pair is
   connected to nobody, and allowed; not of datagrams, which either end can send to any path.
"""

import errno
import struct
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, Literal

from callgate.sandbox.syscall_numbers import LAST, MACHINES, Machine

_LOAD, _JUMP_EQUAL, _JUMP_GREATER, _JUMP_SET, _AND, _RETURN = 0x20, 0x15, 0x25, 0x45, 0x54, 0x06
_ALLOW, _KILL_PROCESS, _ERRNO = 0x7FFF0000, 0x80000000, 0x00050000
_NUMBER_AT, _ARCH_AT, _ARGUMENTS_AT = 0, 4, 16
_X32_BIT: Final = 0x40000000

_UNIX, _INET, _NETLINK, _INET6 = 1, 2, 16, 10
_STREAM, _DATAGRAM, _PACKETS, _TYPE_MASK = 1, 2, 5, 0xF
_TCP, _UDP = 6, 17
_SOL_SOCKET, _SO_REUSEPORT = 1, 15
_NEW_NAMESPACES, _CLONE_PARENT = 0x7E020000, 0x8000
_MAKES_A_FILE: Final = 0o20000100  # O_CREAT, O_TMPFILE
_SET_ID: Final = 0o6000
_SET_ID_OR_OPEN_TO_ALL: Final = 0o6002
_TERMINAL_INPUT: Final = (0x5412, 0x541C, 0x540E, 0x5423)  # TIOCSTI, TIOCLINUX, TIOCSCTTY, TIOCSETD
# On a file or folder that it may only read: who owns it may change its flags, make it unchangeable for ever
# (fs-verity), set or take its key (fscrypt), and make or remove subvolumes (btrfs). Landlock sees none of it.
_OF_FILE_SYSTEMS: Final = (
    *(0x40086602, 0x40046602, 0x40087602, 0x40047602, 0x401C5820),  # FS_IOC_SETFLAGS, SETVERSION, FSSETXATTR
    0x40806685,  # FS_IOC_ENABLE_VERITY
    *(0x800C6613, 0xC0506617, 0xC0406618),  # FS_IOC_SET_ENCRYPTION_POLICY, ADD_ and REMOVE_ENCRYPTION_KEY
    *(0x50009401, 0x50009417, 0x5000940E, 0x50009418),  # BTRFS_IOC_SNAP_CREATE, SUBVOL_CREATE, and their V2
    *(0x5000940F, 0x5000943F, 0x4008941A),  # BTRFS_IOC_SNAP_DESTROY, its V2, SUBVOL_SETFLAGS
)
_LEASES: Final = (1024, 1040)  # F_SETLEASE, F_SETDELEG

_REFUSED: Final = (
    *("ptrace", "process_vm_readv", "process_vm_writev", "kcmp", "pidfd_getfd", "process_madvise"),
    *("process_mrelease", "migrate_pages", "move_pages", "bpf", "userfaultfd", "perf_event_open"),
    *("keyctl", "add_key", "request_key", "memfd_create", "memfd_secret", "execveat"),
    *("mount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen", "fsconfig", "fsmount"),
    *("fspick", "mount_setattr", "statmount", "listmount", "unshare", "setns", "lsm_set_self_attr"),
    *("kexec_load", "kexec_file_load", "init_module", "finit_module", "delete_module", "reboot", "swapon"),
    *("swapoff", "acct", "quotactl", "quotactl_fd", "settimeofday", "clock_settime", "adjtimex"),
    *("clock_adjtime", "sethostname", "setdomainname", "syslog", "vhangup", "fanotify_init"),
    *("name_to_handle_at", "open_by_handle_at", "iopl", "ioperm", "modify_ldt", "uselib", "ustat", "sysfs"),
    *("_sysctl", "shmget", "shmat", "shmctl", "shmdt", "msgget", "msgsnd", "msgrcv", "msgctl", "semget"),
    *("semop", "semtimedop", "semctl", "mq_open", "mq_unlink", "setsid", "setpgid"),
    *("setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "fchmodat2"),
)
# Their arguments are behind a pointer, or they go around the rules here. Programs have another way.
_UNKNOWN: Final = ("clone3", "openat2", "io_uring_setup", "io_uring_enter", "io_uring_register")


@dataclass(frozen=True, slots=True)
class _If:
    argument: int
    test: Literal["is", "is not", "has"]
    value: int
    mask: int = 0xFFFFFFFF


@dataclass(frozen=True, slots=True)
class _Rule:
    """Refused when all of it holds."""

    call: str
    conditions: tuple[_If, ...]
    answer: int = errno.EPERM


_RULES: Final = (
    # A sibling would be our own child, which nobody waits for: a zombie until the gateway ends.
    _Rule("clone", (_If(0, "has", _NEW_NAMESPACES | _CLONE_PARENT),)),
    *(_Rule("ioctl", (_If(1, "is", command),)) for command in (*_TERMINAL_INPUT, *_OF_FILE_SYSTEMS)),
    _Rule("personality", (_If(0, "is not", 0), _If(0, "is not", 0xFFFFFFFF))),
    # Of other processes: their limits and their share of the machine.
    *(
        _Rule(call, (_If(0, "is not", 0),))
        for call in (
            "prlimit64",
            "sched_setaffinity",
            "sched_setscheduler",
            "sched_setparam",
            "sched_setattr",
        )
    ),
    _Rule("setpriority", (_If(0, "is not", 0),)),
    _Rule("setpriority", (_If(1, "is not", 0),)),
    _Rule("ioprio_set", (_If(0, "is not", 1),)),
    _Rule("ioprio_set", (_If(1, "is not", 0),)),
    _Rule("chmod", (_If(1, "has", _SET_ID_OR_OPEN_TO_ALL),)),
    _Rule("fchmod", (_If(1, "has", _SET_ID_OR_OPEN_TO_ALL),)),
    _Rule("fchmodat", (_If(2, "has", _SET_ID_OR_OPEN_TO_ALL),)),
    _Rule("creat", (_If(1, "has", _SET_ID),)),
    _Rule("open", (_If(1, "has", _MAKES_A_FILE), _If(2, "has", _SET_ID))),
    _Rule("openat", (_If(2, "has", _MAKES_A_FILE), _If(3, "has", _SET_ID))),
    _Rule("mknod", (_If(1, "has", _SET_ID),)),
    _Rule("mknodat", (_If(2, "has", _SET_ID),)),
    # On a file that it may only read: whoever opens that file, we too, would stand still for 45 s.
    *(_Rule("fcntl", (_If(1, "is", command),)) for command in _LEASES),
    _Rule("socketpair", (_If(0, "is not", _UNIX),)),
    _Rule(
        "socketpair",
        (_If(1, "is not", _STREAM, _TYPE_MASK), _If(1, "is not", _PACKETS, _TYPE_MASK)),
    ),
    # Our workers share their port by it: a program of the same user could join them, and hear tokens.
    _Rule("setsockopt", (_If(1, "is", _SOL_SOCKET), _If(2, "is", _SO_REUSEPORT)), errno.ENOPROTOOPT),
)
_NO_SOCKETS: Final = (_Rule("socket", (), errno.EACCES),)
_INTERNET_SOCKETS: Final = (
    _Rule(
        "socket",
        (_If(0, "is not", _INET), _If(0, "is not", _INET6), _If(0, "is not", _NETLINK)),
        errno.EACCES,
    ),
    # Which addresses this machine has: asked for by getaddrinfo and by Node. Nothing can be changed by it.
    _Rule("socket", (_If(0, "is", _NETLINK), _If(2, "is not", 0)), errno.EACCES),
    _Rule(
        "socket",
        (
            _If(0, "is not", _NETLINK),
            _If(1, "is not", _STREAM, _TYPE_MASK),
            _If(1, "is not", _DATAGRAM, _TYPE_MASK),
        ),
        errno.EACCES,
    ),
    _Rule(
        "socket",
        (_If(0, "is not", _NETLINK), _If(2, "is not", 0), _If(2, "is not", _TCP), _If(2, "is not", _UDP)),
        errno.EACCES,
    ),
)


def filter_program(machine_name: str, *, network: bool) -> bytes:
    """As `struct sock_filter[]`. The machine must be one of `MACHINES`."""
    machine = MACHINES[machine_name]
    code = [
        _step(_LOAD, _ARCH_AT),
        _step(_JUMP_EQUAL, machine.audit_arch, 1, 0),
        _step(_RETURN, _KILL_PROCESS),
        _step(_LOAD, _NUMBER_AT),
    ]
    if machine_name == "x86_64":
        code += [_step(_JUMP_SET, _X32_BIT, 0, 1), _step(_RETURN, _KILL_PROCESS)]
    code += [_step(_JUMP_GREATER, LAST, 0, 1), _step(_RETURN, _ERRNO | errno.ENOSYS)]
    for names, number in ((_REFUSED, errno.EPERM), (_UNKNOWN, errno.ENOSYS)):
        for name in names:
            if name in machine.numbers:
                code += [_step(_JUMP_EQUAL, machine.numbers[name], 0, 1), _step(_RETURN, _ERRNO | number)]
    sockets = _INTERNET_SOCKETS if network else _NO_SOCKETS
    for rule in (*_RULES, *sockets):
        code += _refusal(rule, machine)
    return b"".join((*code, _step(_RETURN, _ALLOW)))


def _refusal(rule: _Rule, machine: Machine) -> Iterator[bytes]:
    if rule.call not in machine.numbers:
        return
    tests = [_tests(condition) for condition in rule.conditions]
    refuse = [_step(_RETURN, _ERRNO | rule.answer)]
    restore = [_step(_LOAD, _NUMBER_AT)]
    body_steps = sum(len(steps) + 1 for steps in tests) + len(refuse)
    yield _step(_JUMP_EQUAL, machine.numbers[rule.call], 0, body_steps + len(restore))
    left = body_steps
    for condition, steps in zip(rule.conditions, tests, strict=True):
        yield from steps
        left -= len(steps) + 1
        # A condition that does not hold leads to the end of the rule, where the number is loaded again.
        match condition.test:
            case "is":
                yield _step(_JUMP_EQUAL, condition.value, 0, left)
            case "is not":
                yield _step(_JUMP_EQUAL, condition.value, left, 0)
            case "has":
                yield _step(_JUMP_SET, condition.value, 0, left)
    yield from refuse
    yield from restore


def _tests(condition: _If) -> list[bytes]:
    # The lower half: the kernel takes each of these as an int.
    steps = [_step(_LOAD, _ARGUMENTS_AT + 8 * condition.argument)]
    if condition.mask != 0xFFFFFFFF:
        steps.append(_step(_AND, condition.mask))
    return steps


def _step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
