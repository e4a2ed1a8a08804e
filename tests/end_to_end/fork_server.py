"""Becomes a Callgate command, as often as it is asked to: it has imported the program, and forks.

Starting `python -m callgate` takes a second of CPU, nearly all of it imports. A fork is a process as real: it
has its own id, environment, folder, descriptors, signals and end. Runs on its own, see `forked.py`.

fork_server.py FD LISTENER    orders come over the first socket, and process ids go back; `forked_command.py`
                              connects to the second one, with one order
"""

import atexit
import gc
import io
import json
import os
import runpy
import selectors
import signal
import socket
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

# What gateways and commands import in the end. Nothing of it may read the environment while it is imported.
import duckdb  # noqa: F401
import nanoarrow  # noqa: F401
import sqlglot.dialects.duckdb
import sqlglot.dialects.mysql
import sqlglot.dialects.postgres
import sqlglot.dialects.sqlite  # noqa: F401
import starlette.routing
import typer._adapters  # noqa: F401
import uvloop  # noqa: F401

import callgate.api.page_files
import callgate.app.redaction.redactors
import callgate.app.serve
import callgate.cli.commands.call_command
import callgate.cli.commands.record_commands
import callgate.cli.commands.serve_command
import callgate.cli.commands.stdio_command
import callgate.cli.commands.stream_commands
import callgate.cli.commands.tools_command
import callgate.cli.main
import callgate.cli.safe_console
import callgate.recorder.flush.tokens
import callgate.recorder.redact.redact
import callgate.sql.demo.demo
import callgate.sql.engines.duckdb.dialect.tree
import callgate.sql.engines.duckdb.driver.driver
import callgate.sql.engines.duckdb.engine
import callgate.sql.engines.sqlite.dialect.dialect
import callgate.sql.engines.sqlite.driver.driver
import callgate.sql.engines.sqlite.engine
import callgate.sql.guard.parse

LONGEST_ORDER = 1 << 20
API = Path(__file__).parents[2] / "docs" / "openapi.json"


def prepare() -> None:
    """What each command makes first, and always alike: made once here, a fork has it."""
    program = callgate.cli.main.command_of(callgate.cli.main.app)
    callgate.cli.main.command_of = lambda app: program
    rows = callgate.sql.demo.demo.DemoRows()
    callgate.sql.demo.demo.DemoRows = lambda: rows
    prepare_parameters(program)
    # Regular expressions, which their libraries keep.
    callgate.api.page_files.PageFiles.bundled().routes()
    for path in json.loads(API.read_bytes())["paths"]:
        starlette.routing.compile_path(path)
    keep_redactor()
    callgate.sql.engines.sqlite.dialect.dialect.SQLITE.lex("SELECT 1")
    callgate.recorder.flush.tokens.vocabulary()


def keep_redactor() -> None:
    """Of configurations that hold no secret and name none of their own. It is the same for every thread."""
    plain, make = callgate.recorder.redact.redact.Redactor(), callgate.app.redaction.redactors.redactor_of

    def redactor_of(config: Any, known: Any = None) -> callgate.recorder.redact.redact.Redactor:
        has_own = config.record.redact_keys or config.record.redact_patterns
        return make(config, known) if has_own or (known and known.values) else plain

    callgate.app.redaction.redactors.redactor_of = redactor_of


def prepare_parameters(command: Any) -> None:
    """What reads their values is made when it is first needed, and kept."""
    for parameter in command.params:
        parameter.get_runtime_param()
    for inner in getattr(command, "commands", {}).values():
        prepare_parameters(inner)


def serve(control: socket.socket, listener: socket.socket) -> dict[str, Any] | None:
    """Returns an order in the process that is to be it, and None in this one, at the end."""
    told, wakes = socket.socketpair()
    for end in (told, wakes):
        end.setblocking(False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wakes.fileno())
    gc.collect()
    gc.freeze()  # or each fork's first collection would copy all that is shared
    atexit.register(gc.unfreeze)  # or the interpreter could not take modules apart, and DuckDB would complain
    with selectors.DefaultSelector() as events:
        for each in (control, listener, told):
            events.register(each, selectors.EVENT_READ)
        forks = Forks(events)
        while True:
            ready = {key.fileobj: key.data for key, _ in events.select()}
            if told in ready:
                told.recv(4096)
                forks.report_ended()
            elif control in ready:
                said, descriptors, _, _ = socket.recv_fds(control, LONGEST_ORDER, 4, socket.MSG_CMSG_CLOEXEC)
                if not said:
                    return None
                child = os.fork()
                if child == 0:
                    break
                control.send(str(forks.note(child, descriptors)).encode())
            elif listener in ready:
                link, _ = listener.accept()
                said, descriptors, _, _ = socket.recv_fds(link, LONGEST_ORDER, 3, socket.MSG_CMSG_CLOEXEC)
                descriptors.append(link.detach())
                child = os.fork()
                if child == 0:
                    break
                forks.note(child, descriptors)
                forks.watch(child)
            else:
                forks.kill(*ready.values())
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number, descriptor in enumerate(descriptors[:3]):
        os.dup2(descriptor, number)
    for each in (told, wakes, control, listener):
        each.close()
    os.closerange(3, 3 + len(forks.ended) + 16 + max(descriptors))
    return json.loads(said)


class Forks:
    def __init__(self, events: selectors.BaseSelector) -> None:
        self._events = events
        self.ended: dict[int, int] = {}  # process id: where its exit code is wanted

    def note(self, child: int, descriptors: list[int]) -> int:
        """The last one is where its exit code is wanted; the others are its own."""
        self.ended[child] = descriptors.pop()
        for descriptor in descriptors:
            os.close(descriptor)
        return child

    def watch(self, child: int) -> None:
        """It may not outlive the process that stands for it."""
        wanted = self.ended[child]
        self._events.register(wanted, selectors.EVENT_READ, child)
        with suppress(BrokenPipeError):
            os.write(wanted, str(child).encode())

    def kill(self, *children: int) -> None:
        for child in children:
            self._events.unregister(self.ended[child])
            os.kill(child, signal.SIGKILL)

    def report_ended(self) -> None:
        while True:
            try:
                process, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not process:
                return
            wanted = self.ended.pop(process)
            with suppress(KeyError):  # nobody stands for it, or nobody any more
                self._events.unregister(wanted)
            with suppress(BrokenPipeError):  # nobody waits for it any more
                os.write(wanted, str(os.waitstatus_to_exitcode(status)).encode())
            os.close(wanted)


def become(order: dict[str, Any]) -> None:
    """As the interpreter would be after `python -m callgate`."""
    os.chdir(order["folder"])
    os.environ.clear()
    os.environ.update(order["environment"])
    sys.argv[1:] = order["arguments"]
    sys.path[0] = order["folder"]
    for name, number, mode in (("stdin", 0, "rb"), ("stdout", 1, "wb"), ("stderr", 2, "wb")):
        before: io.TextIOWrapper = getattr(sys, name)
        stream = io.TextIOWrapper(
            open(number, mode, closefd=False), before.encoding, before.errors, newline="\n",  # noqa: SIM115
            line_buffering=name == "stderr" or os.isatty(number),
        )  # fmt: skip
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    try:
        runpy.run_module("callgate", run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        if ended.code is None or isinstance(ended.code, int):
            exit_at_once(ended.code or 0)
        raise


def exit_at_once(code: int) -> None:
    """As the interpreter ends, but without taking a thousand modules apart: most commands are quicker."""
    threading._shutdown()  # pyright: ignore[reportAttributeAccessIssue]
    atexit._run_exitfuncs()
    for stream in (sys.stdout, sys.stderr):
        with suppress(BrokenPipeError):
            stream.flush()
    os._exit(code)


if __name__ == "__main__":
    prepare()
    order = serve(*(socket.socket(fileno=int(number)) for number in sys.argv[1:]))
    if order is not None:
        become(order)
