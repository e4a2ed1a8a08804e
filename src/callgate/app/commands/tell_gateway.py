"""Has the gateway that runs here take over what a command of ours has just changed.

A gateway looks at its file each second, but not at `state.db`. And whoever has changed something wants to
know what came of it.
"""

from contextlib import suppress
from typing import Any

from callgate.app.commands.record_access import running_api
from callgate.app.setup.loading import load_config, secrets_at
from callgate.config.problem import ConfigProblems
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config, ServerSpec
from callgate.model.errors import CallgateError


class GatewayHere:
    """Made before the change: the gateway still knows the token of before, which may be what changes."""

    def __init__(self, flags: Flags) -> None:
        self._flags = flags
        self._before = _config_of(flags)

    async def take_over(self) -> dict[str, Any] | None:
        """Its `SettingsNews`; None when none runs here."""
        # A revoked token ends its connections, ours too: the second time we come with the new one.
        with suppress(CallgateError):
            return await _reload(self._before)
        try:
            return await _reload(_config_of(self._flags))
        except CallgateError as error:
            return {"problem": error.message, "needs_restart": [], "changed": []}


def _config_of(flags: Flags) -> Config:
    try:
        return load_config(flags).config
    except ConfigProblems:  # the one that runs serves an earlier state of the file, and says what is wrong
        return Config(server=ServerSpec(state_dir=secrets_at(flags)[1]))


async def _reload(config: Config) -> dict[str, Any] | None:
    async with running_api(config) as api:
        return None if api is None else await api.post("reload", body={})
