"""Statements sent to PostgreSQL as they are: psql's -c hands its text to the server unread."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

from databases.database import Database

_MARK = "-- next --"
_MADE_WHEN_CHANGED = r"""
SELECT pg_snapshot_xmax(pg_current_snapshot()) = :'after_making' AS is_clean \gset
\if :is_clean
\else
%s
SELECT pg_snapshot_xmax(pg_current_snapshot()) AS after_making \gset
\endif
"""
# As many in one psql: the kernel takes 2 MB of arguments.
_AT_ONCE = 100


def ask_each(server: Database, database: str, *texts: str) -> list[str]:
    """One session; the output of each text, errors included, whether or not one before it failed."""
    return _psql(server, database, _each(texts))[: len(texts)]


def ask_each_anew(
    server: Database, database: str, schema: Path, groups: Sequence[Sequence[str]]
) -> list[list[str]]:
    """Of each group the output of making the database, and that of each of its texts.

    A group has a session of its own. `schema` is a file by `made_when_changed`.
    """
    answers: list[list[str]] = []
    while len(answers) < len(groups):
        arguments = ["-v", "after_making=0"]
        asked = groups[len(answers) : len(answers) + _AT_ONCE]
        for group in asked:
            arguments += ["-c", f"\\connect {database}", "-f", str(schema), *_each(["", *group])]
        said = iter(_psql(server, database, arguments))
        before = len(answers)
        for group in asked:
            made, *found = [next(said, None) for _ in ("", *group)]
            if made is None:
                break  # the session of the last one was ended, and psql with it
            answers.append([made, *(each or "" for each in found)])
            if None in found:
                break
        assert len(answers) > before, "psql did not come to the first statement"
    return answers


def made_when_changed(schema: str) -> str:
    """Makes the database, unless no transaction has written since it was made. For psql's -f."""
    return _MADE_WHEN_CHANGED % schema


def _each(texts: Sequence[str]) -> list[str]:
    return [word for text in texts for word in (*(("-c", text) if text else ()), "-c", f"\\echo {_MARK}")]


def _psql(server: Database, database: str, arguments: list[str]) -> list[str]:
    client = [word for word in server.client if word != "--set=ON_ERROR_STOP=1"]
    done = subprocess.run(
        [*client, *arguments, database],
        env={**os.environ, server.password_variable: server.password, "LC_ALL": "C.UTF-8"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    return done.stdout.decode(errors="replace").split(f"{_MARK}\n")
