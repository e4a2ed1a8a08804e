"""What must not be seen, how it looks when something with a secret in it is shown, and how others encode it.

Owns the mask. `Secret` is shown as the mask in every text, so that no dump of a spec can leak by being
written carelessly. The record's redaction is another matter and lives in `recorder`.
"""

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

MASK = "***"

_NAMES = (
    r"(?:auth|token|passw|pwd|secret|key|credential|cookie|session|signature|private"
    r"|dsn|connection|database[-_]?ur[il])"
)
_SECRET_NAME = re.compile(_NAMES, re.IGNORECASE)
_SECRET_VALUE = re.compile(
    r"\b(bearer|basic|digest|token)\s+\S|^(ghp|gho|ghs|github_pat|sk|pk|xox[abprs])[_-]|^ey[A-Za-z0-9_-]{8,}\.",
    re.IGNORECASE,
)
# `--api-key=x`, `X-Api-Key:x`, `Authorization: x`, `{"apiKey": "x"}`: up to where the secret begins. Bounded:
# a text of 10,000 times `key` must not take seconds.
_NAMED_SECRET = re.compile(rf"{_NAMES}[\w.-]{{0,200}}[\"']?\s{{0,20}}[:=]\s{{0,20}}", re.IGNORECASE)
# `-H` in that case only: `-h localhost` is a host.
_HEADER_FLAG = re.compile(r"(?i:--?(?:http-?|request-?|custom-?|extra-?)?headers?)|-H")
_GLUED_HEADER = re.compile(rf"((?:{_HEADER_FLAG.pattern})=|-H)(.+)", re.DOTALL)
_HEADER = re.compile(r"[\"']?[A-Za-z0-9-]+\s*[:=]\s*")
# A flag, and not a value that happens to begin with a dash, as base64url texts may.
_FLAG = re.compile(r"-\w|--[a-z][\w-]*(?:=.*)?", re.IGNORECASE | re.DOTALL)
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://\S*")
_AFTER_PATH = re.compile(r"[?#]")
_URL_SAFE = str.maketrans("+/", "-_")
_PARAM = re.compile(r"[A-Za-z0-9_.-]{1,40}")


class Secret:
    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def get_secret_value(self) -> str:
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Secret) and self._text == other._text

    def __hash__(self) -> int:
        return hash(self._text)

    def __len__(self) -> int:
        return len(self._text)

    def __repr__(self) -> str:
        return f"Secret({MASK!r})"

    def __str__(self) -> str:
        return MASK


@dataclass(frozen=True, slots=True)
class FilledIn:
    """What stands in a text of the file in the place of `${NAME}`, `secret:name` and their kin."""

    value: Secret
    variable: str | None = None  # None: from where nothing but secrets is kept


def encoded_forms(text: str) -> Iterator[str]:
    """In hex, and in base64 of both alphabets that is not broken into lines; without what depends on the
    bytes around it."""
    raw = text.encode(errors="surrogatepass")
    yield raw.hex()
    yield raw.hex().upper()
    for shift in range(3):  # what is before it decides at which of the bits it begins
        encoded = b64encode(bytes(shift) + raw).decode().rstrip("=")
        form = encoded[shift + (shift > 0) : -1]
        yield form
        if (url_safe := form.translate(_URL_SAFE)) != form:
            yield url_safe


def is_secret_name(name: str) -> bool:
    return _SECRET_NAME.search(name) is not None


def mask_named(name: str, value: str) -> str:
    """The value, unless its name or its own look says that it is a secret."""
    return MASK if is_secret_name(name) or _SECRET_VALUE.search(value) else value


def secrets_among(env: Mapping[str, str], args: Sequence[str]) -> Iterator[str]:
    """The values that look like secrets, by themselves or by their names."""
    for name, value in env.items():
        if mask_named(name, value) == MASK:
            yield value
    for arg, shown in zip(args, mask_args(args), strict=True):
        if arg != shown:
            yield arg
            yield arg.partition("=")[2]


def mask_url(url: str) -> str:
    """Without user part, query values and fragment: each of them is where people put keys."""
    start, last_at = url.find("://"), url.rfind("@")
    address = url
    if 0 <= start < last_at:
        after_path = _AFTER_PATH.search(url)
        if after_path is not None and start < after_path.start() < last_at:
            return f"{url[:start]}://{MASK}"  # of a password with "?" or "#" in it, or of a value: unknown
        # Up to the last "@": a password may hold "/" unescaped.
        address = f"{url[:start]}://{MASK}{url[last_at:]}"
    address, hash_sign, _ = address.partition("#")
    address, question, query = address.partition("?")
    if question:
        names = [pair.partition("=")[0] for pair in query.split("&")]
        address += "?" + "&".join(f"{name if _PARAM.fullmatch(name) else MASK}={MASK}" for name in names)
    return address + (f"#{MASK}" if hash_sign else "")


def mask_args(args: Sequence[str]) -> list[str]:
    """Arguments without what looks like a secret in them; as many as there were."""
    masked: list[str] = []
    before = ""
    for arg in args:
        if _HEADER_FLAG.fullmatch(before):
            masked.append(_mask_header(arg))
        elif before.startswith("-") and is_secret_name(before) and not _FLAG.fullmatch(arg):
            masked.append(MASK)
        else:
            masked.append(_mask_arg(arg))
        # `--token=x` has its value already.
        before = "" if "=" in arg else arg
    return masked


def _mask_header(text: str) -> str:
    """`Name: value` with the name alone; what has no name is masked whole."""
    name = _HEADER.match(text)
    return name[0] + MASK if name is not None else MASK


def _mask_arg(arg: str) -> str:
    if _URL.fullmatch(arg):
        return mask_url(arg)
    if (glued := _GLUED_HEADER.fullmatch(arg)) is not None:
        return glued[1] + _mask_header(glued[2])
    if (named := _NAMED_SECRET.search(arg)) is not None:
        return _mask_text(arg[: named.start()]) + named[0] + MASK
    name, equals, value = arg.partition("=")
    return f"{_mask_text(name)}={_mask_text(value)}" if equals and "://" not in name else _mask_text(arg)


def _mask_text(text: str) -> str:
    if _SECRET_VALUE.search(text):
        return MASK
    if "://" in text:
        return mask_url(text)
    return MASK if 0 <= text.find(":") < text.rfind("@") else text
