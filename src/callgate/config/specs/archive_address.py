"""`[record] archive`: a folder, or a place in an object store. Never with credentials: those are the
environment's, as the store's own tools read them."""

from pathlib import Path
from typing import Annotated, Any
from urllib.parse import SplitResult, urlsplit

from callgate.config.reading.markers import ReadBy
from callgate.config.reading.mistakes import refusal
from callgate.model.near_miss import did_you_mean

_SCHEMES = ("s3", "gs", "az")
_HINT = 'Write "s3://bucket/prefix", "gs://…", "az://…" or an absolute path.'


def read_archive(value: Any) -> str:
    """An address, or an absolute path. Raises RefusedValueError."""
    if not isinstance(value, str) or not value or "\x00" in value:
        raise refusal("the address of an archive is expected", _HINT)
    if "://" not in value:
        path = Path(value).expanduser()
        if not path.is_absolute():
            raise refusal("a folder must be an absolute path here", _HINT)
        return str(path)
    address = _split(value)
    if address.scheme not in _SCHEMES:
        hint = did_you_mean(address.scheme, _SCHEMES) or _HINT
        raise refusal("this kind of object store is not known", hint)
    if "@" in value or address.query or address.fragment:
        hint = "Give credentials in the environment (AWS_ACCESS_KEY_ID, …), or by the machine's role."
        raise refusal("the address of an archive holds no credentials or parameters", hint)
    if not address.netloc:
        raise refusal("the name of the bucket is missing", _HINT)
    return value.rstrip("/")


def _split(value: str) -> SplitResult:
    try:
        return urlsplit(value)
    except ValueError:
        pass
    raise refusal("this address cannot be read", _HINT)


ArchiveField = Annotated[
    str,
    ReadBy(read_archive, {"type": "string", "examples": ["s3://bucket/callgate", "/var/backups/callgate"]}),
]
