"""What statements do to SQLite when nothing stops them: `python -m sql.sqlite_witness FOLDER`, a JSON list of
texts on stdin, a JSON list of `{"problem", "changes"}` on stdout.

A process of its own, and a fork of it for each text: some of them set limits for the whole process.
"""

import json
import os
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from sql.fuzz.engines.engine import differences
from sql.fuzz.engines.sqlite_engine import SqliteEngine, demo_shop

_STATEMENT_S = 1.0


def witness_all(texts: list[str], folder: Path) -> list[dict[str, Any]]:
    """For tests: ask the process below."""
    done = subprocess.run(
        [sys.executable, "-m", "sql.sqlite_witness", str(folder)],
        input=json.dumps(texts),
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)},
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _witness(sql: str, folder: Path) -> dict[str, Any]:
    os.chdir(folder)
    engine = SqliteEngine(folder)
    before = engine.state()
    until = time.monotonic() + _STATEMENT_S
    engine.connection.set_progress_handler(lambda: time.monotonic() > until, 10_000)
    problem = ""
    try:
        engine.connection.executescript(sql)
    except (sqlite3.Error, ValueError, MemoryError, UnicodeError) as error:
        problem = str(error) or type(error).__name__
    changes = ["its state can no longer be read"]
    with suppress(sqlite3.Error, MemoryError):
        changes = differences(before, engine.state())
    return {"problem": problem, "changes": changes}


def _in_a_fork(sql: str, folder: Path) -> dict[str, Any]:
    read_fd, write_fd = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(write_fd, json.dumps(_witness(sql, folder)).encode()[:60_000])
        os._exit(0)
    os.close(write_fd)
    with os.fdopen(read_fd, "rb") as answer:
        said = answer.read()
    os.waitpid(child, 0)
    return json.loads(said) if said else {"problem": "the process died", "changes": []}


def main() -> None:
    with tempfile.TemporaryDirectory(dir=sys.argv[1]) as folder:
        texts = json.loads(sys.stdin.read())
        demo_shop()  # made once, not in each fork
        answers: list[dict[str, Any]] = []
        for number, text in enumerate(texts):
            place = Path(folder) / str(number)
            place.mkdir()
            answers.append(_in_a_fork(text, place))
        json.dump(answers, sys.stdout)


if __name__ == "__main__":
    main()
