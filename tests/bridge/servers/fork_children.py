"""Copies of one server over stdio, by forks: to import an SDK takes more than a second of CPU, each time.

fork_children.py SOCKET MODULE,… SCRIPT [ARGUMENT …]      prints a line when it listens; ends with its stdin

The modules are imported once. `forked_child.py SOCKET` is then what `python SCRIPT ARGUMENT …` would be: its
streams are the copy's, it ends with it and in the same way, and the copy does not outlive it.
"""

import gc
import importlib
import os
import runpy
import selectors
import signal
import socket
import sys
from contextlib import suppress
from pathlib import Path


def fork_for(listener: socket.socket, woken: socket.socket) -> list[int] | None:
    """Returns the streams of a copy in the process that is to be it, and None in this one, at the end."""
    starters: dict[int, socket.socket] = {}  # by the process id of their copies
    with selectors.DefaultSelector() as events:
        for each in (listener, woken, sys.stdin):
            events.register(each, selectors.EVENT_READ)
        while True:
            for ready in [key.fileobj for key, _ in events.select()]:
                if ready is sys.stdin:
                    for copy in starters:
                        os.kill(copy, signal.SIGKILL)
                    return None
                if ready is woken:
                    woken.recv(4096)
                    report_ended(starters, events)
                elif ready is listener:
                    starter, _ = listener.accept()
                    _, streams, _, _ = socket.recv_fds(starter, 1, 3)
                    if len(streams) != 3:
                        starter.close()
                        continue
                    copy = os.fork()
                    if copy == 0:
                        return streams
                    for stream in streams:
                        os.close(stream)
                    starters[copy] = starter
                    events.register(starter, selectors.EVENT_READ)
                else:  # the starter has ended
                    for copy in [copy for copy, starter in starters.items() if starter is ready]:
                        events.unregister(ready)
                        os.kill(copy, signal.SIGKILL)


def report_ended(starters: dict[int, socket.socket], events: selectors.BaseSelector) -> None:
    with suppress(ChildProcessError):
        while True:
            copy, status = os.waitpid(-1, os.WNOHANG)
            if not copy:
                return
            starter = starters.pop(copy)
            with suppress(KeyError):  # it had ended before
                events.unregister(starter)
            with starter, suppress(BrokenPipeError):
                starter.send(str(os.waitstatus_to_exitcode(status)).encode())


def main() -> None:
    path, modules, *sys.argv = sys.argv[1:]
    script = sys.argv[0]
    sys.path[0] = str(Path(script).parent)
    for name in modules.split(","):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()  # or the first collection of a copy would copy all that is shared
    woken, wakes = socket.socketpair()
    for end in (woken, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        print("ready", flush=True)
        streams = fork_for(listener, woken)
    if streams is None:
        return
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
    os.closerange(3, 1024)
    runpy.run_path(script, run_name="__main__")


if __name__ == "__main__":
    main()
