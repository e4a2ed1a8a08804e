"""A server that tries to get out: each attempt by its name, and what became of it, as one line of JSON.

Run as `hostile.py STAGE`; STAGE is JSON: paths, ports and a process that stands for the gateway. An attempt
that worked is "done"; anything else is the system's answer. `again`: a child of its own tries it all too.
"""

import ctypes
import errno
import fcntl
import json
import mmap
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

STAGE = json.loads(sys.argv[1])
HERE = Path(STAGE["work"])
SECRET, STATE, FILE, OUTSIDE = (Path(STAGE[name]) for name in ("secret", "state_key", "file", "outside"))
PID = int(STAGE["pid"])
NUMBERS: dict[str, int] = STAGE["numbers"]
LIBC = ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> int:
    longs = [ctypes.c_long(one) if isinstance(one, int) else one for one in arguments]
    result = LIBC.syscall(ctypes.c_long(NUMBERS[name]), *longs)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def buffer(size: int = 256) -> Any:
    return ctypes.create_string_buffer(size)


def connect(family: int, kind: int, address: Any) -> None:
    with socket.socket(family, kind) as sock:
        sock.settimeout(5)
        sock.connect(address)
        sock.send(b"x")


def listed(path: str | Path) -> None:
    list(Path(path).iterdir())


def write(path: Path) -> None:
    with path.open("a") as file:
        file.write("changed")


def link_out() -> None:
    (HERE / "hard").unlink(missing_ok=True)
    os.link(SECRET, HERE / "hard")
    (HERE / "hard").read_text()


def symlink_out() -> None:
    (HERE / "soft").unlink(missing_ok=True)
    (HERE / "soft").symlink_to(SECRET)
    (HERE / "soft").read_text()


def symlinked_write() -> None:
    (HERE / "soft-out").unlink(missing_ok=True)
    (HERE / "soft-out").symlink_to(OUTSIDE / "new-by-link")
    write(HERE / "soft-out")


def rename_out() -> None:
    (HERE / "mine").write_text("mine")
    (HERE / "mine").rename(OUTSIDE / "moved")


def rename_in() -> None:
    (OUTSIDE / "theirs").rename(HERE / "theirs")
    (HERE / "theirs").rename(OUTSIDE / "theirs")


def bind_mount() -> None:
    (HERE / "mounted").mkdir(exist_ok=True)
    call("mount", str(SECRET.parent).encode(), str(HERE / "mounted").encode(), None, 4096, None)
    call("umount2", str(HERE / "mounted").encode(), 0)


def read_memory() -> None:
    local, remote = (ctypes.c_ulong * 2)(), (ctypes.c_ulong * 2)()
    data = buffer(8)
    local[0], local[1] = ctypes.addressof(data), 8
    remote[0], remote[1] = STAGE["address"], 8
    call("process_vm_readv", PID, local, 1, remote, 1, 0)


def seize() -> None:
    call("ptrace", 0x4206, PID, 0, 0)  # PTRACE_SEIZE
    call("ptrace", 0x4207, PID, 0, 0)  # PTRACE_INTERRUPT
    os.waitpid(PID, 0x40000000)
    call("ptrace", 17, PID, 0, 0)  # PTRACE_DETACH


def open_by_handle() -> None:
    handle = buffer(128)
    handle[0] = 64
    call("name_to_handle_at", -100, str(SECRET).encode(), handle, ctypes.byref(ctypes.c_int()), 0)


def descriptors() -> None:
    """Those that an exec left behind: only stdin, stdout and stderr."""
    found = []
    for number in range(3, 256):
        try:
            os.fstat(number)
        except OSError:
            continue
        found.append(number)
    if not found:
        raise OSError(errno.EBADF, "none but 0, 1 and 2")


def capabilities() -> None:
    header, data = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    LIBC.capget(header, data)
    if not any(data) and all(LIBC.prctl(23, number, 0, 0, 0) != 1 for number in range(64)):
        raise OSError(errno.EPERM, "no capability is held")


def leave_group() -> None:
    """As a daemon does, to outlive its group."""
    subprocess.run(
        [sys.executable, "-I", "-S", "-c", "import os; os.setsid()"], check=True, capture_output=True
    )


def open_terminal_input() -> None:
    call("ioctl", 0, 0x5412, b"x")


def use_memfd() -> None:
    os.close(os.memfd_create("code", 0))


def send_from_a_pair(kind: int) -> None:
    ours, _theirs = socket.socketpair(socket.AF_UNIX, kind)
    ours.sendto(b"x", STAGE["datagrams"])


def share_a_port() -> None:
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(tuple(STAGE["ip4"]["SOCK_STREAM"]))


def set_id_by_mknod() -> None:
    (HERE / "node").unlink(missing_ok=True)
    os.mknod(HERE / "node", 0o104755)


def hold_up_readers() -> None:
    (HERE / "leased").write_text("")
    with (HERE / "leased").open() as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_WRLCK)


def change_flags() -> None:
    """To those that it has. With others a file would be left out of copies, or be slow to write."""
    flags = bytearray(8)
    with Path(__file__).open("rb") as file:
        with suppress(OSError):
            fcntl.ioctl(file, 0x80086601, flags)  # FS_IOC_GETFLAGS
        fcntl.ioctl(file, 0x40086602, bytes(flags))


def make_unchangeable() -> None:
    """In a version that there is not: where the file system can do it, this must not come true."""
    with Path(__file__).open("rb") as file:
        fcntl.ioctl(file, 0x40806685, bytes(128))


def leave_a_zombie() -> None:
    """To its parent: of a fork, here, so that it is ours to wait for."""
    in_a_fork(lambda: call("clone", 0x8000 | 17, 0, 0, 0, 0) or os._exit(0))
    os.wait()


def i386() -> None:
    """getpid as i386 programs call it."""
    code = mmap.mmap(-1, mmap.PAGESIZE, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
    code.write(b"\xb8\x14\x00\x00\x00\xcd\x80\xc3")  # mov $20, %eax; int $0x80; ret
    in_a_fork(ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code))))


def in_a_fork(attempt: Callable[[], Any]) -> None:
    child = os.fork()
    if child == 0:
        try:
            attempt()
        except OSError as problem:
            os._exit(problem.errno or 1)
        os._exit(0)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        raise OSError(errno.EPERM, f"killed by signal {os.WTERMSIG(status)}")
    if number := os.waitstatus_to_exitcode(status):
        raise OSError(number, os.strerror(number))


def x32() -> None:
    """The number of getpid with the bit of x32: a kernel without x32 only says that it does not know it."""
    in_a_fork(lambda: LIBC.syscall(ctypes.c_long(0x40000000 | 39)))


def clone_into_namespace() -> None:
    if call("clone", 0x20000000 | 17, 0, 0, 0, 0) == 0:
        os._exit(0)
    os.wait()


def netlink() -> None:
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()


def reach(family: str, kind: str) -> Callable[[], None]:
    def attempt() -> None:
        address = (STAGE["ip6"] if family == "AF_INET6" else STAGE["ip4"])[kind]
        connect(getattr(socket, family), getattr(socket, kind), tuple(address))

    return attempt


ATTEMPTS: dict[str, Callable[[], Any]] = {
    "read a key in the home": SECRET.read_text,
    "list the home": lambda: listed(STAGE["home"]),
    "read our state": STATE.read_text,
    "list our state": lambda: listed(STATE.parent),
    "change our state": lambda: write(STATE),
    "read our file": FILE.read_text,
    "change our file": lambda: write(FILE),
    "read /etc/shadow": Path("/etc/shadow").read_bytes,
    "read the gateway's environment": Path(f"/proc/{PID}/environ").read_bytes,
    "read the gateway's arguments": Path(f"/proc/{PID}/cmdline").read_bytes,
    "open the gateway's memory": lambda: Path(f"/proc/{PID}/mem").open("rb").close(),
    "list the gateway's descriptors": lambda: listed(f"/proc/{PID}/fd"),
    "go through the gateway's root": lambda: listed(f"/proc/{PID}/root{STAGE['home']}"),
    "go through the gateway's folder": lambda: listed(f"/proc/{PID}/cwd"),
    "list all processes": lambda: listed("/proc"),
    "write outside": lambda: write(OUTSIDE / "new"),
    "change a file outside": lambda: write(OUTSIDE / "theirs"),
    "empty a file outside": lambda: os.truncate(OUTSIDE / "theirs", 0),
    "remove a file outside": (OUTSIDE / "spare").unlink,
    "make a folder outside": (OUTSIDE / "folder").mkdir,
    "write to /tmp": lambda: write(Path(STAGE["tmp"])),
    "write to /dev/shm": lambda: write(Path(STAGE["shm"])),
    "read by a hard link": link_out,
    "read by a symbolic link": symlink_out,
    "write by a symbolic link": symlinked_write,
    "rename to outside": rename_out,
    "rename from outside": rename_in,
    "connect by TCP": reach("AF_INET", "SOCK_STREAM"),
    "send by UDP": reach("AF_INET", "SOCK_DGRAM"),
    "connect by TCP over IPv6": reach("AF_INET6", "SOCK_STREAM"),
    "send by UDP over IPv6": reach("AF_INET6", "SOCK_DGRAM"),
    "listen": lambda: socket.create_server(("127.0.0.1", 0)).close(),
    "open a raw socket": lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, 1).close(),
    "open a packet socket": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close(),
    "open a netlink socket": netlink,
    "open a vsock": lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close(),
    "connect to a Unix socket": lambda: connect(socket.AF_UNIX, socket.SOCK_STREAM, STAGE["socket"]),
    "connect to an abstract socket": lambda: connect(
        socket.AF_UNIX, socket.SOCK_STREAM, "\0" + STAGE["abstract"]
    ),
    "send to a Unix socket from a pair": lambda: send_from_a_pair(socket.SOCK_DGRAM),
    "send to a Unix socket from a raw pair": lambda: send_from_a_pair(socket.SOCK_RAW),
    "share the port of the gateway's workers": share_a_port,
    "make an io_uring": lambda: os.close(call("io_uring_setup", 4, buffer(120))),
    "signal the gateway": lambda: os.kill(PID, 0),
    "stop the gateway by its limits": lambda: call("prlimit64", PID, 7, None, buffer(16)),
    "move the gateway to another processor": lambda: os.sched_setaffinity(PID, os.sched_getaffinity(PID)),
    "trace the gateway": seize,
    "read the gateway's memory": read_memory,
    "compare with the gateway": lambda: call("kcmp", os.getpid(), PID, 1, 0, 0),
    "read the session's keys": lambda: call("keyctl", 0, -3, 1),
    "mount a folder over another": bind_mount,
    "make a user namespace": lambda: in_a_fork(lambda: call("unshare", 0x10000000)),
    "make a namespace with clone": lambda: in_a_fork(clone_into_namespace),
    "change the root": lambda: call("chroot", b"/"),
    "load a BPF program": lambda: os.close(call("bpf", 0, (ctypes.c_uint32 * 32)(2, 4, 4, 1), 128)),
    "watch performance": lambda: os.close(call("perf_event_open", buffer_of_event(), 0, -1, -1, 0)),
    "handle page faults": lambda: os.close(call("userfaultfd", 1)),
    "name a file by a handle": open_by_handle,
    "run from memory": use_memfd,
    "share memory with others": lambda: call("shmctl", call("shmget", 0, 4096, 0o1600), 0, 0),
    "leave a program that becomes its owner": lambda: set_id(HERE / "set-id"),
    "make a program that becomes its owner": set_id_by_mknod,
    "make one without a name": lambda: os.close(os.open(HERE, os.O_TMPFILE | os.O_WRONLY, 0o4755)),
    "hold up who opens a file": hold_up_readers,
    "change the flags of what it may read": change_flags,
    "make what it may read unchangeable": make_unchangeable,
    "leave the gateway a zombie": leave_a_zombie,
    "mark a file outside": lambda: os.setxattr(OUTSIDE / "theirs", "user.mark", b"1"),
    "outlive its group": leave_group,
    "type into a terminal": open_terminal_input,
    "use inherited descriptors": descriptors,
    "hold capabilities": capabilities,
    "call by another architecture": x32,
} | ({"call as an i386 program": i386} if "open" in NUMBERS else {})  # which x86_64 alone has


def buffer_of_event() -> Any:
    event = ctypes.create_string_buffer(128)
    ctypes.cast(event, ctypes.POINTER(ctypes.c_uint32))[0] = 1  # PERF_TYPE_SOFTWARE
    ctypes.cast(event, ctypes.POINTER(ctypes.c_uint32))[1] = 128
    return event


def set_id(path: Path) -> None:
    path.write_text("")
    path.chmod(0o4755)


def outcome(attempt: Callable[[], Any]) -> str:
    try:
        attempt()
    except OSError as problem:
        return problem.strerror or str(problem)
    except subprocess.CalledProcessError as problem:
        return problem.stderr.decode().strip().splitlines()[-1]
    return "done"


def main() -> None:
    results: dict[str, Any] = {name: outcome(attempt) for name, attempt in ATTEMPTS.items()}
    if STAGE.get("again"):
        stage = json.dumps(STAGE | {"again": False})
        child = subprocess.run([sys.executable, "-I", "-S", __file__, stage], capture_output=True, check=True)
        results["again"] = json.loads(child.stdout)
    print(json.dumps(results), flush=True)


main()
