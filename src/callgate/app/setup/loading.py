"""Loads the configuration with its secrets: from `state.db` (`secret:`) and from programs (`exec:`).

Everything that loads a configuration to use it does so from here; `config.load` alone knows no secrets.
"""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from callgate.app.state_folder import state_key
from callgate.config import load
from callgate.config.draft import state_place
from callgate.config.edit_file import FileEdit, edit_of
from callgate.config.load import Loaded
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.secret import Secret
from callgate.config.secret_source import StatePlace
from callgate.config.sources.file import FILE_NAME, ConfigFile, find_config_file
from callgate.config.sources.flags import Flags
from callgate.config.specs.config import Config, ServerSpec
from callgate.model.error_codes import SETUP_SECRET
from callgate.model.errors import SetupError
from callgate.program_output import ProgramFailedError, printed_line
from callgate.vault.keyring_key import keyring_key
from callgate.vault.secrets import BY_KEYRING, BY_STATE_KEY, Secrets
from callgate.vault.state_db import StateDb

_MAX_NAMED_CHARS = 60


def load_config(
    flags: Flags | None = None, environ: Mapping[str, str] | None = None, *, file: ConfigFile | None = None
) -> Loaded:
    """Raises ConfigProblems. `file`: one that was read already, or is not written yet."""
    return load.load_config(flags, environ, secrets=_FoundSecrets(), file=file)


def problems_of(file: ConfigFile) -> Sequence[ConfigProblem]:
    """Of a file that is not written yet: `FileEdit` asks for them."""
    try:
        load_config(Flags(), file=file)
    except ConfigProblems as found:
        return found.problems
    return ()


def own_file(flag: Path | None) -> FileEdit:
    """The file that a gateway would read, to change it; where there is none, one is made in this folder."""
    found = find_config_file(flag, os.environ)
    return FileEdit(Path.cwd() / FILE_NAME, None) if found.origin is None else edit_of(found)


def secrets_at(flags: Flags) -> tuple[Secrets, Path]:
    """The secrets of the gateway with this configuration, whatever else is wrong with it; their folder."""
    place = state_place(find_config_file(flags.config, os.environ), os.environ, flags, _FoundSecrets())
    return _secrets_of(place), place.folder


def config_of_running(flags: Flags) -> tuple[Config, ConfigProblems | None]:
    """To find the gateway that runs here, also with a file that has problems: it serves an earlier state of
    it. Then nothing but the state folder is known."""
    try:
        return load_config(flags).config, None
    except ConfigProblems as found:
        problems = found
    try:
        folder = secrets_at(flags)[1]
    except ConfigProblems:  # the file cannot be read at all
        folder = state_place(ConfigFile(), os.environ, flags, None).folder
    return Config(server=ServerSpec(state_dir=folder)), problems


class _FoundSecrets:
    """Implements `config.SecretSource`, for one time of loading: no program is started twice."""

    def __init__(self) -> None:
        self._printed: dict[tuple[str, ...], str] = {}
        self._secrets: Secrets | None = None

    def stored(self, name: str, place: StatePlace) -> str:
        if self._secrets is None:
            self._secrets = _secrets_of(place)
        return self._secrets.read(name)

    def printed(self, command: Sequence[str]) -> str:
        words = tuple(command)
        if words not in self._printed:
            try:
                self._printed[words] = printed_line(words)
            except ProgramFailedError as error:
                raise SetupError(
                    SETUP_SECRET,
                    f"The program {words[0][:_MAX_NAMED_CHARS]} {error.what}",
                    hint="Run it in a terminal, as the user that Callgate runs as, to see what it says",
                ) from None
        return self._printed[words]


def _secrets_of(place: StatePlace) -> Secrets:
    def of_state() -> bytes:
        return state_key(None if place.key is None else Secret(place.key), place.folder)

    keys = {BY_STATE_KEY: of_state, BY_KEYRING: lambda: keyring_key(place.folder)}
    return Secrets(StateDb(place.folder), keys)
