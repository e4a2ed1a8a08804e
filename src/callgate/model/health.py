"""How the parts behind us are doing, in the words the terminal, the API and the page share."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    UP = "up"
    STARTING = "starting"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a part was down last, even if it is up again."""

    at: float  # unix seconds
    message: str
    error_code: str | None = None


@dataclass(frozen=True, slots=True)
class Health:
    """One upstream: a SQL source or an MCP server."""

    name: str
    kind: str  # "sql" | "mcp"
    state: State
    detail: str  # one line for people: mode and engine when up, what is wrong and what to do when down
    error_code: str | None = None
    era: str | None = None  # of an MCP server, once it introduced itself
    version: str | None = None  # of the server or engine, as it says itself
    stderr_tail: tuple[str, ...] = ()  # of a child process: its last lines, oldest first
    protocol: str | None = None  # the revision that an MCP server speaks with us
    # Unix seconds at which it was first seen in this state. Down is one state, however often it was started.
    since: float | None = None
    last_failure: Failure | None = None
    title: str | None = None  # what people call it, where that is not its name
    notes: tuple[str, ...] = ()  # what is left out or changed of what it lists, a sentence each
