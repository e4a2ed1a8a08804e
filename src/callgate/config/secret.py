"""What must not be seen, and how it looks when something with a secret in it is shown.

Owns the mask. `Secret` dumps as the mask in every mode, so that no dump of a spec can leak by being
written carelessly. The record's redaction is another matter and lives in `recorder`.
"""

import re
from collections.abc import Sequence
from typing import Annotated

from pydantic import PlainSerializer, SecretStr, WithJsonSchema

MASK = "***"

_SECRET_NAME = re.compile(
    r"auth|token|passw|pwd|secret|key|credential|cookie|session|signature|private"
    r"|dsn|connection|database[-_]?ur[il]",
    re.IGNORECASE,
)
_SECRET_VALUE = re.compile(
    r"^(bearer|basic|digest|token) |^(ghp|gho|ghs|github_pat|sk|pk|xox[abprs])[_-]|^ey[A-Za-z0-9_-]{8,}\.",
    re.IGNORECASE,
)
_USER = re.compile(r"://.*@", re.DOTALL)
_LOOSE_USER = re.compile(r":.*@", re.DOTALL)
_PARAM = re.compile(r"[A-Za-z0-9_.-]{1,40}")


def _mask(_: SecretStr) -> str:
    return MASK


Secret = Annotated[SecretStr, PlainSerializer(_mask, return_type=str), WithJsonSchema({"type": "string"})]


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def mask_named(name: str, value: str) -> str:
    """The value, unless its name or its own look says that it is a secret."""
    return MASK if is_secret_name(name) or _SECRET_VALUE.search(value) else value


def mask_url(url: str) -> str:
    """Without user part, query values and fragment: each of them is where people put keys."""
    # Up to the last "@", wherever it stands: a password may hold "/", "?" and "#" unescaped.
    address = _USER.sub(f"://{MASK}@", url)
    address, hash_sign, _ = address.partition("#")
    address, question, query = address.partition("?")
    if question:
        names = [pair.partition("=")[0] for pair in query.split("&")]
        address += "?" + "&".join(f"{name if _PARAM.fullmatch(name) else MASK}={MASK}" for name in names)
    return address + (f"#{MASK}" if hash_sign else "")


def mask_args(args: Sequence[str]) -> list[str]:
    """`--api-key=x`, `--api-key x`, `API_KEY=x`, `https://u:p@h` and `u:p@h` without x and p."""
    masked: list[str] = []
    after_secret_flag = False
    for arg in args:
        name, equals, value = arg.partition("=")
        is_flag = arg.startswith("-")
        if after_secret_flag and not is_flag:
            masked.append(MASK)
        elif equals and "://" not in name:
            masked.append(f"{name}={_mask_arg(mask_named(name, value))}")
        else:
            masked.append(_mask_arg(mask_named("", arg)))
        after_secret_flag = is_flag and not equals and is_secret_name(name)
    return masked


def _mask_arg(text: str) -> str:
    if "://" in text:
        return mask_url(text)
    return MASK if _LOOSE_USER.search(text) else text
