"""Stands for a Callgate command that `fork_server.py` makes: forked_command.py SOCKET ARGUMENT…

For whoever starts programs himself, as the SDKs' clients do. It ends with the fork and in the same way, and
passes on the signals that it gets; the fork does not outlive it.
"""

import json
import os
import signal
import socket
import sys

_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as link:
    link.connect(f"\0{sys.argv[1]}")
    order = {"arguments": sys.argv[2:], "environment": dict(os.environ), "folder": os.getcwd()}  # noqa: PTH109
    socket.send_fds(link, [json.dumps(order).encode()], [0, 1, 2])
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # or a pipe would stay open that the fork has closed
        os.dup2(nothing, stream)
    process = int(link.recv(20))
    for number in _PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(process, number))
    code = int(link.recv(20) or b"1")
if code < 0:
    for number in _PASSED_ON:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
