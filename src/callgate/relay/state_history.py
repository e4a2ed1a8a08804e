"""Since when a part is in its state, and what was wrong with it last. Pure: time is an argument.

As far as we looked: an outage that begins and ends between two looks is not seen.
"""

from dataclasses import dataclass, replace

from callgate.model.health import Failure, Health, State


@dataclass(slots=True)
class StateHistory:
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
