"""Statements sent to PostgreSQL as they are: psql's -c hands its text to the server unread."""

import os
import subprocess

from databases.database import Database

_MARK = "-- next --"


def ask_each(server: Database, database: str, *texts: str) -> list[str]:
    """One session; the output of each text, errors included, whether or not one before it failed."""
    arguments = [word for text in texts for word in ("-c", text, "-c", f"\\echo {_MARK}")]
    client = [word for word in server.client if word != "--set=ON_ERROR_STOP=1"]
    done = subprocess.run(
        [*client, *arguments, database],
        env={**os.environ, server.password_variable: server.password, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=60,
    )
    return done.stdout.decode(errors="replace").split(f"{_MARK}\n")[: len(texts)]
