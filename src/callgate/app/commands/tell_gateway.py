"""Has the gateway that runs here take over what a command of ours has just changed.

A gateway looks at its file each second, but not at `state.db`. And whoever has changed something wants to
know what came of it.
"""

from contextlib import suppress
from pathlib import Path
from typing import Any

from callgate.app.commands.record_access import running_api
from callgate.app.running import find_running
from callgate.app.setup.loading import config_of_running
from callgate.config.paths import state_folder
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config
from callgate.model.error_codes import SETUP_CONFIG
from callgate.model.errors import CallgateError, SetupError


class GatewayHere:
    """Made before the change: the gateway still knows the token of before, which may be what changes."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags
        self._before = config_of_running(flags)[0]

    def check_serves(self, file: Path) -> None:
        """Before this file is changed. Raises SetupError: a gateway runs here that would not hear of it."""
        running = find_running(state_folder(self._before))
        if running is None or str(file.resolve()) in running.files:
            return
        if not running.files:
            what = "The gateway that runs here serves what its command line names, and reads no file"
            hint = "Stop it, and start callgate in the folder of the file"
        elif len(running.files) == 1:
            what = f"The gateway that runs here serves {running.files[0]}, and not {file}"
            hint = f"Name its file: --config {running.files[0]}"
        else:
            what = f"The gateway that runs here has no file yet, and would not find {file}"
            hint = f"Run this in {Path(running.files[0]).parent}, where it was started"
        raise SetupError(SETUP_CONFIG, what, hint=hint)

    async def take_over(self) -> dict[str, Any] | None:
        """Its `SettingsNews`; None when none runs here."""
        # A revoked token ends its connections, ours too: the second time we come with the new one.
        with suppress(CallgateError):
            return await _reload(self._before)
        try:
            return await _reload(config_of_running(self._flags)[0])
        except CallgateError as error:
            return {"problem": error.message, "needs_restart": [], "changed": []}


async def _reload(config: Config) -> dict[str, Any] | None:
    async with running_api(config) as api:
        return None if api is None else await api.post("reload", body={})
