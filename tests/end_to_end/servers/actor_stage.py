"""What the parts of an actor share: its options, its log, and who waits for what."""

import argparse
import json
import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

Say = Callable[[bytes], None]
PATIENCE_S = 60.0  # only so that nothing of a failed test stays behind

parser = argparse.ArgumentParser()
parser.add_argument("--log", type=Path, required=True)
parser.add_argument("--offers", type=Path)
parser.add_argument("--era", default="legacy")
parser.add_argument("--name", default="actor")
parser.add_argument("--needs", type=Path, help="exits with 3 at once unless this file is there")
parser.add_argument("--awaits", type=Path, help="reads nothing before this file is there")
parser.add_argument("--awaits-again", type=Path, help="the same for all processes of it but the first")
parser.add_argument("--revision", help="answers initialize with this one, whatever was asked for")
parser.add_argument("--on-discover", choices=["exit", "silence"])
parser.add_argument("--deaf", action="store_true", help="ignores SIGTERM and the end of stdin")
parser.add_argument("--http", type=int, nargs="?", const=0)
OPTIONS = parser.parse_args()
if OPTIONS.era.startswith("@"):  # a file says which, read at every start
    OPTIONS.era = Path(OPTIONS.era[1:]).read_text()


class Stage:
    """What all requests share: the log, answers to our questions, cancellations, listening streams."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.answers: dict[str, Any] = {}
        self.cancelled: set[str] = set()
        self.listening: list[Say] = []  # streams for what nobody asked
        self.listen_ids: list[str] = []  # modern: the ids of open `subscriptions/listen`
        self.sessions: set[str] = set()
        self.declared: dict[str | None, Any] = {}  # by session; over stdio there is one, None
        self.questions = 0

    def log(self, raw: bytes, **about: Any) -> None:
        line = json.dumps({"pid": os.getpid(), "raw": raw.strip().decode(errors="replace"), **about}) + "\n"
        with OPTIONS.log.open("ab") as log:
            log.write(line.encode())

    def wait(self, is_so: Callable[[], bool]) -> None:
        with self.changed:
            if not self.changed.wait_for(is_so, PATIENCE_S):
                raise TimeoutError

    def said(self, change: Callable[[], object]) -> None:
        with self.changed:
            change()
            self.changed.notify_all()


STAGE = Stage()
