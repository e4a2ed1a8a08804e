"""A hostile MCP server over stdio: stdio_server.py BEHAVIOUR SCALE [LOG]

What only a process can do is here; what any server can say is in `frames`. Notes each start in the log.
"""

import json
import os
import sys
import time
from pathlib import Path

from frames import MIB, fine, frames_for  # as a script: the folder of this file is on the path

BEHAVIOUR, SCALE = sys.argv[1], float(sys.argv[2])
_PATIENCE_S = 60.0


def say(frame: bytes) -> None:
    sys.stdout.buffer.write(frame + b"\n")


def _die(rpc_id: object) -> None:
    os._exit(7)


def _write_without_an_end(rpc_id: object) -> None:
    for _ in range(int(400 * SCALE) + 20):
        sys.stdout.buffer.write(b"x" * MIB)


def _close_stdin(rpc_id: object) -> None:
    os.close(0)
    _fall_silent(rpc_id)


def _close_stdout(rpc_id: object) -> None:
    os.close(1)
    time.sleep(_PATIENCE_S)


def _fall_silent(rpc_id: object) -> None:
    say(fine(rpc_id))
    sys.stdout.flush()
    time.sleep(_PATIENCE_S)


def _flood_stderr(rpc_id: object) -> None:
    for number in range(int(400_000 * SCALE)):
        os.write(2, b"\x1b[31mtrouble %d\x1b[0m %b\n" % (number, b"e" * 100))
    say(fine(rpc_id))


def _stderr_without_an_end(rpc_id: object) -> None:
    for _ in range(int(100 * SCALE) + 1):
        os.write(2, b"e" * MIB)
    say(fine(rpc_id))


def _leave_children(rpc_id: object) -> None:
    for _ in range(int(20 * SCALE) + 1):
        if os.fork() == 0:
            os.setsid()
            time.sleep(5)
            os._exit(0)
    say(fine(rpc_id))


ACTS = {
    "dies in every call": _die,
    "writes a line without an end": _write_without_an_end,
    "closes its stdin": _close_stdin,
    "closes its stdout": _close_stdout,
    "floods its stderr": _flood_stderr,
    "writes a stderr line without an end": _stderr_without_an_end,
    "leaves children behind": _leave_children,
    "stops reading": _fall_silent,
}


def main() -> None:
    if len(sys.argv) > 3:
        with Path(sys.argv[3]).open("a") as log:
            log.write(f"{os.getpid()}\n")
    if BEHAVIOUR == "dies at its start":
        os._exit(3)
    for line in sys.stdin.buffer:
        message = json.loads(line)
        if message.get("method") == "tools/call" and BEHAVIOUR in ACTS:
            ACTS[BEHAVIOUR](message["id"])
        else:
            for frame in frames_for(BEHAVIOUR, message, SCALE):
                say(frame)
        sys.stdout.flush()


if __name__ == "__main__":
    try:
        main()
    except (OSError, ValueError):
        os._exit(1)  # the gateway hung up, or we closed our own end
