"""Who listens where we wanted to: most often it is Callgate itself, started before."""

import asyncio
import errno
from pathlib import Path
from urllib.parse import urlsplit

from callgate.app.commands.api_client import ApiClient, HttpLine
from callgate.app.running import find_running
from callgate.config.specs.listen_address import ListenAddress
from callgate.model.error_codes import REFUSED_HOST, REFUSED_UNAUTHENTICATED, SETUP_PORT
from callgate.model.errors import CallgateError, SetupError
from callgate.upstreams.http.client import HttpClient

# A gateway on this machine answers in milliseconds; what does not answer at all must not hold up the error.
_PATIENCE_S = 2.0
_THIS_MACHINE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - asked about, not listened on
_OTHER_PORT = "choose another port with --port (0 takes any free one)"


async def explained(error: SetupError, listen: ListenAddress, state_folder: Path) -> SetupError:
    """The error of a listener that could not start, with more to say when Callgate has the port."""
    if getattr(error.__cause__, "errno", None) != errno.EADDRINUSE:
        return error
    running = await asyncio.to_thread(find_running, state_folder)
    if running is not None and urlsplit(running.url).port == listen.port:
        return SetupError(
            SETUP_PORT,
            f"Callgate already runs at {running.url} (pid {running.pid}, state folder {state_folder})",
            hint=f"Use that one, stop it with: kill {running.pid}, or {_OTHER_PORT}",
        )
    url = f"http://{ListenAddress(_THIS_MACHINE.get(listen.host, listen.host), listen.port)}"
    if await _is_callgate(url):
        return SetupError(
            SETUP_PORT,
            f"Callgate already runs at {url}, on another state folder than {state_folder}",
            hint=f"Use that one, stop it where it was started, or {_OTHER_PORT}",
        )
    return error


async def _is_callgate(url: str) -> bool:
    client = HttpClient()
    try:
        about = await asyncio.wait_for(ApiClient(HttpLine(client, url, None)).get("about"), _PATIENCE_S)
    except CallgateError as error:
        return error.code in (REFUSED_UNAUTHENTICATED, REFUSED_HOST)  # only a gate of ours answers so
    except (TimeoutError, ValueError):  # it says nothing, or something that is not JSON
        return False
    finally:
        await client.close()
    return about.get("name") == "callgate"
