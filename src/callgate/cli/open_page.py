"""Whether to show the web page in the person's browser once we listen, and doing so."""

import os
import sys
import threading
from collections.abc import Mapping

# Set where nobody sits in front of a screen, or sits in front of another machine's.
_ELSEWHERE = ("CI", "SSH_CONNECTION", "SSH_CLIENT", "SSH_TTY")
_SCREENS = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")


def wants_page(asked: bool | None, is_bare: bool) -> bool:
    """`asked`: --open or --no-open, None for neither. Unasked only bare `callgate` opens it: a newcomer's."""
    if asked is not None:
        return asked
    return is_bare and sys.stdin.isatty() and sys.stderr.isatty() and has_screen(os.environ, sys.platform)


def has_screen(environment: Mapping[str, str], platform: str) -> bool:
    if any(environment.get(name) for name in _ELSEWHERE):
        return False
    return platform == "darwin" or any(environment.get(name) for name in _SCREENS)


def open_page(url: str) -> None:
    """In a thread of its own: some browsers are waited for. That none could be started is no error."""
    import webbrowser  # not above: a gateway without a person at it does without

    threading.Thread(target=webbrowser.open, args=(url,), name="open page", daemon=True).start()
