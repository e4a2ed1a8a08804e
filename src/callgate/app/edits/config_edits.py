"""Changes to the file that a running gateway was started with, for the API.

Rules
1. A change says for which state of the file it is meant. In any other (`caller.stale`) nothing is written.
2. The whole new configuration is checked as at a start. What has a problem is not written.
3. What starts a program or reads a file is taken from this machine only.
4. What is told of it holds key paths and masked lines, never a secret.
5. Secrets of a pasted entry are kept sealed, and the file only names them.
"""

import asyncio
import os
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from pathlib import Path

from platformdirs import user_config_path

from callgate.app.edits.config_values import ConfigValues
from callgate.app.edits.probe import bad_config, not_local, renamed, starts_program
from callgate.app.reload import differences
from callgate.app.setup.keep_secrets import AddedSecrets
from callgate.app.setup.setup_problems import load_and_check, problems_in
from callgate.app.take_over import needs_restart
from callgate.config.edit_file import FileEdit, digest_of, edit_of
from callgate.config.editing.masked_lines import changed_lines
from callgate.config.editing.written_values import read_key_path, written_path
from callgate.config.load import Loaded
from callgate.config.local_reach import newly_reaching, newly_started
from callgate.config.problem import ConfigProblem, ConfigProblems
from callgate.config.sources.adopt_file import adopt_file
from callgate.config.sources.file import FILE_NAME, ConfigFile, find_config_file, read_config_text
from callgate.config.sources.pasted import Pasted, read_pasted
from callgate.model.error_codes import CALLER_BAD_PARAMS, CALLER_STALE, SETUP_CONFIG_LOCKED
from callgate.model.errors import CallerError, CallgateError, SetupError
from callgate.ports.settings import ChangedConfig, ConfigChange, ConfigView, Settings, SettingsNews


class FileEdits:
    """Implements `ports.ConfigEdits`."""

    def __init__(self, loaded: Loaded, settings: Settings) -> None:
        self._served = loaded  # the last that had no problems
        self._settings = settings
        self._one_at_a_time = asyncio.Lock()

    @property
    def news(self) -> SettingsNews:
        return self._settings.news

    def names(self) -> list[str]:
        """Of all sources and servers."""
        config = self._served.config
        return [*(source.id for source in config.sources), *config.mcp_servers]

    async def view(self) -> ConfigView:
        async with self._one_at_a_time:
            return await asyncio.to_thread(self._view)

    async def change(
        self, change: ConfigChange, digest: str, *, dry_run: bool, is_local: bool
    ) -> ChangedConfig:
        async with self._one_at_a_time:
            done = await asyncio.to_thread(self._change, change, digest, dry_run=dry_run, is_local=is_local)
        if dry_run:
            return done
        news = await self._settings.reload()
        return replace(done, needs_restart=news.needs_restart, problem=news.problem)

    def _view(self) -> ConfigView:
        file, flags = self._find(), self._served.flags
        problem = self._settings.news.problem
        try:
            self._served = load_and_check(flags)
        except ConfigProblems as found:
            problem = problem or found.message
        try:
            edit: FileEdit | None = self._edit(file)
        except SetupError:
            edit = None
        known = edit if file.origin is not None else None
        values = ConfigValues(self._served, file, os.environ, known)
        content = file.origin.read_bytes() if file.origin is not None else None
        return ConfigView(
            file.origin and str(file.origin),
            digest_of(content),
            edit is not None and edit.is_writable,
            values.all(),
            values.entries(),
            problem,
        )

    def _find(self) -> ConfigFile:
        flags = self._served.flags
        return find_config_file(flags.config, os.environ, searches=not flags.addresses)

    def _edit(self, file: ConfigFile) -> FileEdit:
        """Of the file, or of one that is to be made. Raises SetupError."""
        if file.origin is not None:
            return edit_of(file)
        if self._served.flags.addresses:
            raise SetupError(
                SETUP_CONFIG_LOCKED,
                "This gateway was started with databases on its command line, and reads no file",
                hint="Write them into a file (callgate init makes one), and start callgate without them",
            )
        return FileEdit(new_file_path(), None)

    def _change(self, change: ConfigChange, digest: str, *, dry_run: bool, is_local: bool) -> ChangedConfig:
        try:
            edit = self._edit(self._find())
        except ConfigProblems as found:
            raise bad_config(found, "Mend the file with an editor first. It cannot be read") from None
        if edit.digest != digest:
            raise CallerError(
                CALLER_STALE,
                f"{edit.path} is not what it was when you read it",
                hint="Read the configuration again, and repeat the change",
            )
        text, tree = edit.text, deepcopy(edit.tree)
        changed, pasted = self._apply(edit, change)
        before, after = _adopted(tree), _adopted(edit.tree)
        if started := newly_started(before, after):
            raise starts_program([written_path(loc) for loc in started])
        places = newly_reaching(before, after)
        if places and not is_local:
            raise not_local([written_path(loc) for loc in places])
        added = AddedSecrets(self._served.flags, edit, pasted)
        try:
            # With the values of its secrets first: what has problems leaves none behind.
            edit.check(self._problems)
            waits = self._waiting(edit) if dry_run else ()
            added.name_them(keeps=not dry_run)
            if not dry_run:
                edit.write(self._problems)
        except ConfigProblems as found:
            added.forget()
            raise bad_config(found, "The configuration would have problems") from None
        except CallgateError:
            added.forget()
            raise
        diff = changed_lines(text if edit.is_there else "", edit.text)
        name = pasted and pasted.name
        return ChangedConfig(
            str(edit.path), edit.new_digest, diff, changed, name, waits, kept=added.kept, plain=added.plain
        )

    def _waiting(self, edit: FileEdit) -> list[str]:
        """What of this change only a new start would take over."""
        try:
            after = load_and_check(self._served.flags, read_config_text(edit.path, edit.text)).config
        except ConfigProblems:  # they were there before
            return []
        return [path for path in differences(self._served.config, after) if needs_restart(path)]

    def _apply(self, edit: FileEdit, change: ConfigChange) -> tuple[list[str], Pasted | None]:
        for path in change.unset:
            if not edit.has(loc := read_key_path(path)):
                hint = "GET /api/v1/config says where each value comes from"
                raise CallerError(CALLER_BAD_PARAMS, f"{path[:200]} is not in the file", hint=hint)
            edit.remove(loc)
        for path, value in change.set.items():
            edit.set(read_key_path(path), value)
        changed = [*change.unset, *change.set]
        if change.add_text is None:
            return changed, None
        pasted = read_pasted(change.add_text, self.names())
        if change.add_name is not None:
            pasted = renamed(pasted, change.add_name, self.names())
        edit.set(pasted.written_at(), pasted.entry)
        return [*changed, written_path(pasted.written_at())], pasted

    def _problems(self, file: ConfigFile) -> Sequence[ConfigProblem]:
        return problems_in(self._served.flags, file)


def _adopted(tree: dict[str, object]) -> dict[str, object]:
    """In our words: other clients' words for a program are another way to start one."""
    return adopt_file(tree, is_json=False).tables


def new_file_path() -> Path:
    """Where a file is made if there is none: where every gateway of this user looks for it."""
    folder = user_config_path("callgate")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise SetupError(
            SETUP_CONFIG_LOCKED,
            f"{folder} cannot be made ({problem.strerror})",
            hint="Make a file with: callgate init",
        ) from None
    return folder / FILE_NAME
