"""The secrets of an entry that a change adds: sealed, and named in the text that is written.

What was sealed for a change that is not made in the end is forgotten again; what was there before is not.
"""

from callgate.app.setup.keep_secrets import (
    forget_secret,
    free_secret_name,
    keep_new_secret,
    secret_names,
    with_named_secrets,
)
from callgate.config.edit_file import FileEdit
from callgate.config.editing.written_values import written_path
from callgate.config.sources.flags import Flags
from callgate.config.sources.pasted import Pasted
from callgate.config.sources.pasted_secrets import PastedSecret


class AddedSecrets:
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
