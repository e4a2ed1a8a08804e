"""No network but loopback for all that the zoo runs: no telemetry, no errands of a server."""

import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

INSIDE = "ZOO_OFFLINE"
_SIOCSIFFLAGS = 0x8914
_IFF_UP = 0x1


def is_inside() -> bool:
    return os.environ.get(INSIDE) == "1"


def go_offline(arguments: list[str]) -> None:
    """Runs this program again in a network namespace of its own; returns if the machine allows none."""
    unshare = shutil.which("unshare")
    for options in (["--user", "--map-root-user", "--net"], ["--net"]):
        if unshare is None:
            break
        command = [unshare, *options, "--"]
        if subprocess.run([*command, "true"], capture_output=True, check=False).returncode == 0:
            again = [*command, sys.executable, "-m", "zoo", *arguments]
            os.execve(unshare, again, os.environ | {INSIDE: "1"})
    print("zoo: this machine allows no network namespace; the programs run with its network", file=sys.stderr)


def raise_loopback() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", _IFF_UP))
