"""Keeps the secrets of an entry sealed in the state, with names in their place: for commands and the API.

Rules
1. A value that is kept already keeps its name. Another value never takes a name that is in use.
2. What cannot be named stays where it is, and is told: programs get their arguments, and servers their
   addresses, as they are written.
"""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from callgate.app.setup.loading import secrets_at
from callgate.app.state_folder import make_folder
from callgate.config.edit_file import FileEdit
from callgate.config.editing.written_values import written_path
from callgate.config.sources.flags import Flags
from callgate.config.sources.pasted import Pasted
from callgate.config.sources.pasted_secrets import PastedSecret, secrets_in
from callgate.vault.keyring_key import is_wanted
from callgate.vault.secrets import BY_KEYRING, BY_STATE_KEY, Secrets

_NAMED = ("dsn", "env", "headers")


def keep_secret(flags: Flags, name: str, value: str) -> None:
    secrets, folder = secrets_at(flags)
    make_folder(folder)
    secrets.set(name, value, BY_KEYRING if is_wanted() else BY_STATE_KEY)


def keep_new_secret(flags: Flags, name: str, value: str) -> str:
    """Under this name, or one with a number if another value has it. Returns the name."""
    chosen = free_secret_name(flags, name, value)
    keep_secret(flags, chosen, value)
    return chosen


def free_secret_name(flags: Flags, name: str, value: str) -> str:
    """The name under which `keep_new_secret` would keep it."""
    secrets = secrets_at(flags)[0]
    known = {one.name: one.is_readable for one in secrets.kept()}
    names = (name, *(f"{name}-{number}" for number in range(2, len(known) + 3)))
    return next(one for one in names if one not in known or _has(secrets, one, value, is_readable=known[one]))


def forget_secret(flags: Flags, name: str) -> None:
    secrets_at(flags)[0].remove(name)


def secret_names(flags: Flags) -> list[str]:
    return [one.name for one in secrets_at(flags)[0].kept()]


def with_named_secrets(
    kind: str, name: str, entry: dict[str, Any], keep: Callable[[PastedSecret], str]
) -> tuple[dict[str, Any], list[PastedSecret]]:
    """The entry with names in place of its secrets, and those that must stay. `keep`: keeps one, and says
    under which name."""
    named = entry
    while True:
        # Of several in one text the first is found; what is named already is none any more.
        found = list(secrets_in(kind, name, named))
        movable = [secret for secret in found if secret.loc[0] in _NAMED]
        if not movable:
            return named, found
        for secret in movable:
            named = named_at(named, secret, keep(secret))


def named_at(entry: dict[str, Any], secret: PastedSecret, name: str) -> dict[str, Any]:
    """The entry with this name in the secret's place."""
    named: dict[str, Any] = deepcopy(entry)
    chosen = f"secret:{name}"
    is_whole = not secret.before and not secret.after
    text = chosen if is_whole else f"{secret.before}${{{chosen}}}{secret.after}"
    table: dict[str, Any] = named if len(secret.loc) == 1 else named[str(secret.loc[0])]
    table[str(secret.loc[-1])] = text
    return named


def _has(secrets: Secrets, name: str, value: str, *, is_readable: bool) -> bool:
    return is_readable and secrets.read(name) == value


class AddedSecrets:
    """Of an entry that a change adds. What was sealed for a change that is not made in the end is forgotten
    again; what was there before is not."""

    def __init__(self, flags: Flags, edit: FileEdit, pasted: Pasted | None) -> None:
        """`pasted`: what is in the edit already, with its values. None: nothing is added."""
        self._flags = flags
        self._edit = edit
        self._pasted = pasted if pasted is not None and pasted.secrets else None
        self._new: list[str] = []
        self.kept: list[str] = []
        self.plain: list[str] = []

    def name_them(self, *, keeps: bool) -> None:
        """`keeps`: False: only as it would be. Raises SetupError."""
        if self._pasted is None:
            return
        pasted, before = self._pasted, set(secret_names(self._flags))

        def keep(secret: PastedSecret) -> str:
            act = keep_new_secret if keeps else free_secret_name
            name = act(self._flags, secret.name, secret.value)
            if keeps and name not in before:
                self._new.append(name)
            self.kept.append(name)
            return name

        entry, left = with_named_secrets(pasted.kind, pasted.name, pasted.entry, keep)
        self.plain = [written_path((*pasted.written_at(), *secret.loc)) for secret in left]
        self._edit.remove(pasted.written_at())
        self._edit.set(pasted.written_at(), entry)

    def forget(self) -> None:
        for name in self._new:
            forget_secret(self._flags, name)
