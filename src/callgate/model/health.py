"""How the parts behind us are doing, in the words the terminal, the API and the page share."""

from dataclasses import dataclass, replace
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


@dataclass(slots=True)
class StateHistory:
    """Since when a part is in its state, and what was wrong with it last; time is an argument.

    As far as we looked: an outage that begins and ends between two looks is not seen.
    """

    _state: State | None = None
    _since: float = 0.0
    _down_since: float | None = None  # until it is up: one outage, however often it was started
    _failure: Failure | None = None

    def look(self, health: Health, now_s: float) -> Health:
        if health.state is not self._state:
            self._state, self._since = health.state, now_s
            if health.state is State.UP:
                self._down_since = None
            elif health.state is State.DOWN:
                self._since = self._down_since = now_s if self._down_since is None else self._down_since
        if health.last_failure is not None:  # it knows better than we, who only look now and then
            self._failure = health.last_failure
        elif health.state is State.DOWN:
            last = self._failure
            if last is None or last.message != health.detail or last.at < self._since:
                self._failure = Failure(now_s, health.detail, health.error_code)
        return replace(health, since=self._since, last_failure=self._failure)
