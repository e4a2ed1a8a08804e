"""From the name of an entry, which may be any text, to its id: the prefix of its tools and its place in
addresses, metrics and the record. Pure.

Rules
1. A name that can be an id is one. It stays so, whatever else is in the file.
2. Any other name is made one: small letters and digits, everything else a dash. Two names with the same
   outcome, or one that is taken, get a digest of the name behind it: none of them depends on the order.
3. A name of which nothing is left is `server-` and its digest.
"""

import hashlib
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable

from callgate.config.specs.field_types import is_entry_name

MAX_ID_CHARS = 64
# A derived one is shorter: together with a tool of usual length it still fits into 64.
_MAX_DERIVED_CHARS = 40
MAX_TITLE_CHARS = 100
_DIGEST_CHARS = 8
_NOT_IN_ID = re.compile(r"[^a-z0-9_]+")
_UNDERSCORES = re.compile(r"__+")
_EDGES = "-_"
# Longer names are shortened before anything else is done with them.
_MAX_READ_CHARS = 1_000


def entry_ids(names: Iterable[str], taken: Collection[str]) -> dict[str, str]:
    """The id of each name. `taken`: ids that belong to others."""
    names = list(names)
    ids = {name: name for name in names if _is_id(name)}
    derived = {name: _slug(name) for name in names if name not in ids}
    often = Counter(derived.values())
    unusable = {*taken, *ids.values()}
    for name, slug in derived.items():
        is_unique = often[slug] == 1 and slug not in unusable and slug and len(slug) <= _MAX_DERIVED_CHARS
        ids[name] = slug if is_unique else _with_digest(slug, name, unusable)
        unusable.add(ids[name])
    return {name: ids[name] for name in names}


def title_of(name: str) -> str:
    """The name for people: without what moves a cursor or turns the writing round, and not too long."""
    text = "".join(char if char.isprintable() else " " for char in name[:_MAX_READ_CHARS])
    text = " ".join(text.split())
    return text if len(text) <= MAX_TITLE_CHARS else f"{text[: MAX_TITLE_CHARS - 1]}…"


def _is_id(name: str) -> bool:
    return len(name) <= MAX_ID_CHARS and is_entry_name(name)


def _slug(name: str) -> str:
    plain = unicodedata.normalize("NFKD", name[:_MAX_READ_CHARS]).encode("ascii", "ignore").decode().lower()
    return _UNDERSCORES.sub("_", _NOT_IN_ID.sub("-", plain)).strip(_EDGES)


def _with_digest(slug: str, name: str, unusable: Collection[str]) -> str:
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()
    beginning = slug[: _MAX_DERIVED_CHARS - _DIGEST_CHARS - 1].rstrip(_EDGES) or "server"
    made = f"{beginning}-{digest[:_DIGEST_CHARS]}"
    return made if made not in unusable else f"{beginning}-{digest[:32]}"
