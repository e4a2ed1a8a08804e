"""What a test knows about its database server: where it is, who rules there, and how to talk to it.

It talks through the server's own command line client: our drivers are judged by something that is not ours.
"""

import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest


@dataclass(frozen=True)
class Database:
    scheme: str
    port: int
    # New in each run: a server that accepts it is ours, whoever else takes ports on this machine.
    password: str
    # For MariaDB the socket, for PostgreSQL the folder that holds it, as their drivers want it.
    socket: Path
    client: tuple[str, ...]
    # Where the client looks for the password; the whole machine could read it as an argument.
    password_variable: str
    host: str = "127.0.0.1"
    user: str = "callgate"  # an administrator
    database: str = "callgate"
    # What the server is, where its scheme stands for two: mariadb or mysql.
    flavour: str = ""

    @property
    def dsn(self) -> str:
        return f"{self.scheme}://{self.user}:{self.password}@{self.host}:{self.port}/{self.database}"

    def needs_mariadb(self, what: str) -> None:
        """Skips a test of something that only MariaDB has."""
        if self.flavour == "mysql":
            pytest.skip(f"MySQL has no {what}")

    def run(self, statements: str, *, database: str | None = None) -> str:
        """Run one or more statements and return the rows: a line each, columns parted by tabs.

        The first statement that fails ends it, with the client's message as an AssertionError.
        """
        done = subprocess.run(
            [*self.client, database or self.database],
            input=statements,
            env={**os.environ, self.password_variable: self.password, "LC_ALL": "C.UTF-8"},
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stderr.strip()
        return done.stdout.removesuffix("\n")
