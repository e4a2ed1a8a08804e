"""Engine: a live database without our engine layer, as a privileged user, and what it looks like."""

from collections.abc import Sequence
from typing import Protocol

from callgate.sql.guard.dialect import Dialect

# Everything that a statement could change, by name, each in a form that can be compared and shown.
State = dict[str, object]


class Engine(Protocol):
    @property
    def dialect(self) -> Dialect: ...

    @property
    def tables(self) -> Sequence[str]:
        """Names that generated statements may read."""
        ...

    def reset(self) -> None:
        """As it was in the beginning, in a new session."""
        ...

    def run(self, sql: str) -> str | None:
        """One statement, all its rows; the engine's error if it has one."""
        ...

    def state(self) -> State: ...

    def opinion(self, sql: str) -> str | None:
        """What the statement that was run last had in it or in its rows and should not, if anything."""
        ...

    def close(self) -> None: ...


def leak(secrets: Sequence[str], sql: str, rows: str) -> str | None:
    """A word of a file in the rows, unless the statement itself says it."""
    for secret in secrets:
        if secret in rows and secret.lower() not in sql.lower():
            return f"a file's content ({secret}) is in the rows"
    return None


def differences(before: State, after: State) -> list[str]:
    names = sorted({*before, *after})
    return [
        f"{name}: {_shown(before.get(name))} > {_shown(after.get(name))}"
        for name in names
        if before.get(name) != after.get(name)
    ]


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) < 300 else text[:300] + "…"
