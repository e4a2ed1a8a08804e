"""The key of the secrets in the system's keyring, with the extra `callgate[keyring]`.

With the package, the key is kept there and not in a file beside the secrets. A machine without a keyring, or
with one that is locked or fails, is an error: no other key is taken in its place. Who has the package for
another program, and wants the state key, turns keyrings off with the package's own switch (the backend
`null`). Each state folder has a key of its own.
"""

import base64
import secrets
from importlib.util import find_spec
from pathlib import Path

from callgate.model.error_codes import SETUP_SECRET
from callgate.model.errors import SetupError
from callgate.model.wording import install_extra

_SERVICE = "callgate"
_KEY_BYTES = 32


def is_wanted() -> bool:
    """Whether new secrets are sealed with it. Raises SetupError where there is the package and no keyring."""
    if find_spec("keyring") is None:
        return False
    import keyring
    from keyring.backends import fail, null

    found = keyring.get_keyring()
    if isinstance(found, fail.Keyring):
        raise SetupError(
            SETUP_SECRET,
            "The extra callgate[keyring] is installed, and this machine has no keyring",
            hint="Start one (python -m keyring diagnose), or use the state key instead: uninstall the "
            "package keyring, or set PYTHON_KEYRING_BACKEND=keyring.backends.null.Keyring",
        )
    return not isinstance(found, null.Keyring)


def keyring_key(folder: Path) -> bytes:
    """The key, made when there is none. Raises SetupError."""
    if find_spec("keyring") is None:
        raise _unusable(install_extra("keyring"))
    import keyring
    from keyring.errors import KeyringError

    account = str(folder.resolve())
    try:
        kept = keyring.get_password(_SERVICE, account)
        if kept is None:
            made = base64.b64encode(secrets.token_bytes(_KEY_BYTES)).decode()
            keyring.set_password(_SERVICE, account, made)
            kept = keyring.get_password(_SERVICE, account)
        key = base64.b64decode(kept or "", validate=True)
    except (KeyringError, ValueError, OSError, RuntimeError) as problem:
        raise _unusable(type(problem).__name__) from problem
    if len(key) != _KEY_BYTES:
        raise _unusable("what it has for Callgate is no key")
    return key


def _unusable(why: str) -> SetupError:
    return SetupError(
        SETUP_SECRET,
        f"The system's keyring cannot be used for the key of the secrets: {why}",
        hint="Unlock it, and look at: python -m keyring diagnose",
    )
