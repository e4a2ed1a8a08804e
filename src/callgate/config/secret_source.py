"""Where the values of `secret:name` and `exec:command` come from. The file only names them.

Loading gets an implementation from above (`app.loading`): nothing here opens a database or starts a program.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

SECRET = "secret:"  # noqa: S105  the word before a name
EXEC = "exec:"
# What a name may be: it stands in files, in commands and in errors.
SECRET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}")


@dataclass(frozen=True, slots=True)
class StatePlace:
    """Where secrets are kept, and what they are sealed with, before the rest of the file is read."""

    folder: Path
    key: str | None = field(default=None, repr=False)  # [server] state_key


class SecretSource(Protocol):
    """Both raise SetupError, which names the secret and never a value."""

    def stored(self, name: str, place: StatePlace) -> str: ...

    def printed(self, command: Sequence[str]) -> str: ...
