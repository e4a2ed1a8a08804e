"""Whether a balancer should send us requests: what `/readyz` says.

A record whose database is away is no reason to say no: all replicas would say it at once, and calls go on.
"""

from callgate.recorder.recorder import Recorder

_LEAVING = "The gateway is stopping"
_UNRECORDED = "Calls are refused: the record cannot be written, and [record] on_failure is refuse"


class Readiness:
    def __init__(self, recorder: Recorder | None) -> None:
        self._recorder = recorder
        self._is_leaving = False

    def leave(self) -> None:
        self._is_leaving = True

    def obstacle(self) -> str | None:
        """None: we are ready."""
        if self._is_leaving:
            return _LEAVING
        if self._recorder is not None and self._recorder.refuses_for_journal:
            return _UNRECORDED
        return None
