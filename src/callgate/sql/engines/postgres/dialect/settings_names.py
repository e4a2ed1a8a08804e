"""Which settings may be shown: all but those that hold secrets or say where files and machines are. Pure.

One by one, by `SHOW name` and `current_setting('name')`: what shows all of them at once (SHOW ALL,
pg_settings) would show these too, and is refused.
"""

import re

from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.tokens import TokenKind

_SECRET = re.compile(
    r"conninfo|passphrase|password|passwd|secret|token|credential|private|api_?key|jwt|keyfile"
    r"|_command$|_file$|_director(y|ies)$"
)
# password_encryption says how, not what.
_HARMLESS = frozenset({"password_encryption"})
_HINT = "Settings that hold no secrets can be shown, e.g. SHOW server_version."


def is_secret(name: str) -> bool:
    lowered = name.lower()
    return lowered not in _HARMLESS and _SECRET.search(lowered) is not None


def setting_fault(tokens: Tokens, at: int) -> Fault | None:
    """For the name that is given to current_setting(), which begins at `at`."""
    is_written_out = (
        at + 1 < len(tokens) and tokens[at].kind is TokenKind.STRING and tokens[at + 1].text in (")", ",")
    )
    return secret_fault(tokens[at].name) if is_written_out else _unclear()


def secret_fault(name: str) -> Fault | None:
    if not is_secret(name):
        return None
    return Fault(
        "secret_setting",
        f"the setting {name[:60]} may hold a secret, or tells where the server's files are.",
        _HINT,
        is_forbidden=True,
    )


def all_settings_fault() -> Fault:
    reason = "SHOW ALL shows settings that may hold secrets too."
    return Fault("secret_setting", reason, _HINT, is_forbidden=True)


def _unclear() -> Fault:
    return Fault(
        "setting_name", "the name of a setting must be written out in quotes.", "current_setting('TimeZone')"
    )
