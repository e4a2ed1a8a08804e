"""What transports share on which all requests use one stream: a pipe, a socket, an event stream."""

from collections.abc import Callable


class OneStream:
    """The part of `transport.Transport` that tells streams apart, where there is nothing to tell apart."""

    def __init__(self, pause: Callable[[], None], resume: Callable[[], None]) -> None:
        self._pause = pause
        self._resume = resume
        self._holders: set[int | None] = set()

    def pause_stream(self, about: int | None) -> None:
        """One reader that is behind holds up all of them (rule 9 of `Connection`)."""
        if not self._holders:
            self._pause()
        self._holders.add(about)

    def resume_stream(self, about: int | None) -> None:
        """The stream is read again when no reader is behind any more."""
        if about in self._holders:
            self._holders.discard(about)
            if not self._holders:
                self._resume()

    def abandon(self, rpc_id: int) -> None:
        """Nothing: here a cancellation is a notification, and the connection sends it."""

    def negotiated(self, revision: str) -> None:
        """Nothing: a stream carries no headers."""

    def listen(self) -> None:
        """Nothing: the one stream is always heard."""

    @property
    def has_session(self) -> bool:
        """The stream is one."""
        return True

    @property
    def stderr_tail(self) -> list[str]:
        return []
