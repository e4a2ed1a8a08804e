"""The numbers of the system calls that a confined program may not make, or not with every argument.

Data only. A test compares it with the kernel's own headers. A call that a machine does not have is left out.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Machine:
    audit_arch: int  # of linux/audit.h
    seccomp: int
    capset: int
    numbers: Mapping[str, int]


# From 424 on every machine has the same number for the same call.
_COMMON: Final = {
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "clone3": 435,
    "openat2": 437,
    "pidfd_getfd": 438,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "fchmodat2": 452,
    "statmount": 457,
    "listmount": 458,
    "lsm_set_self_attr": 460,
}
LAST: Final = 462  # mseal: what came later is unknown to us

# name: x86_64, aarch64
_BOTH: Final = {
    "acct": (163, 89),
    "add_key": (248, 217),
    "adjtimex": (159, 171),
    "bpf": (321, 280),
    "chroot": (161, 51),
    "clock_adjtime": (305, 266),
    "clock_settime": (227, 112),
    "clone": (56, 220),
    "delete_module": (176, 106),
    "execveat": (322, 281),
    "fanotify_init": (300, 262),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "fcntl": (72, 25),
    "finit_module": (313, 273),
    "fremovexattr": (199, 16),
    "fsetxattr": (190, 7),
    "init_module": (175, 105),
    "ioctl": (16, 29),
    "ioprio_set": (251, 30),
    "kcmp": (312, 272),
    "kexec_file_load": (320, 294),
    "kexec_load": (246, 104),
    "keyctl": (250, 219),
    "lremovexattr": (198, 15),
    "lsetxattr": (189, 6),
    "memfd_create": (319, 279),
    "migrate_pages": (256, 238),
    "mknodat": (259, 33),
    "mount": (165, 40),
    "move_pages": (279, 239),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    "msgctl": (71, 187),
    "msgget": (68, 186),
    "msgrcv": (70, 188),
    "msgsnd": (69, 189),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    "openat": (257, 56),
    "perf_event_open": (298, 241),
    "personality": (135, 92),
    "pivot_root": (155, 41),
    "prlimit64": (302, 261),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "ptrace": (101, 117),
    "quotactl": (179, 60),
    "reboot": (169, 142),
    "removexattr": (197, 14),
    "request_key": (249, 218),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "semctl": (66, 191),
    "semget": (64, 190),
    "semop": (65, 193),
    "semtimedop": (220, 192),
    "setdomainname": (171, 162),
    "sethostname": (170, 161),
    "setns": (308, 268),
    "setpgid": (109, 154),
    "setpriority": (141, 140),
    "setsid": (112, 157),
    "setsockopt": (54, 208),
    "settimeofday": (164, 170),
    "setxattr": (188, 5),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "shmdt": (67, 197),
    "shmget": (29, 194),
    "socket": (41, 198),
    "socketpair": (53, 199),
    "swapoff": (168, 225),
    "swapon": (167, 224),
    "syslog": (103, 116),
    "umount2": (166, 39),
    "unshare": (272, 97),
    "userfaultfd": (323, 282),
    "vhangup": (153, 58),
}
_X86_ONLY: Final = {
    "_sysctl": 156,
    "chmod": 90,
    "creat": 85,
    "ioperm": 173,
    "iopl": 172,
    "mknod": 133,
    "modify_ldt": 154,
    "open": 2,
    "sysfs": 139,
    "uselib": 134,
    "ustat": 136,
}

MACHINES: Final[Mapping[str, Machine]] = {
    "x86_64": Machine(
        0xC000003E,
        317,
        126,
        _COMMON | _X86_ONLY | {name: numbers[0] for name, numbers in _BOTH.items()},
    ),
    "aarch64": Machine(0xC00000B7, 277, 91, _COMMON | {name: numbers[1] for name, numbers in _BOTH.items()}),
}
