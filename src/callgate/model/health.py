"""How the parts behind us are doing, in the words the terminal, the API and the page share."""

from dataclasses import dataclass
from enum import StrEnum


class State(StrEnum):
    UP = "up"
    STARTING = "starting"
    DOWN = "down"


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
