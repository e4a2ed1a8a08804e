"""Which tools fit a few words: BM25 over names, titles, descriptions and parameters, by SQLite's FTS5.

An index lives in memory, is made of one catalog, and is thrown away with it: a thousand tools take some
milliseconds. Words of the question are alternatives, so that a sentence finds what its best words find.
"""

import re
import sqlite3
from collections.abc import Sequence
from typing import Any, cast

import msgspec

from callgate.model.offers import Offer
from callgate.wire.json_rpc import NOT_READABLE

# A word in the tool's name says more than one in its description, and that more than one in a parameter's.
_RANK = "bm25(tools, 8.0, 4.0, 2.0, 1.0)"
_CREATE = """
CREATE VIRTUAL TABLE tools USING fts5(
    name, title, description, parameters, tokenize = 'porter unicode61')
"""
_FIND = f"SELECT rowid FROM tools WHERE tools MATCH ? ORDER BY {_RANK}, rowid LIMIT ?"  # noqa: S608
_WORD = re.compile(r"[^\W_]+")
# Camel case and digits are borders too: `getUserById2` is found by "user".
_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])")
# A question, not a document.
_MAX_WORDS = 32
_MAX_TEXT_CHARS = 4_000


class ToolIndex:
    def __init__(self, offers: Sequence[Offer]) -> None:
        self._offers = offers
        # Made and asked on the loop's thread, unless a test does otherwise.
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.execute(_CREATE)
        self._database.executemany(
            "INSERT INTO tools (rowid, name, title, description, parameters) VALUES (?, ?, ?, ?, ?)",
            [(number, *_texts(offer)) for number, offer in enumerate(offers)],
        )

    def find(self, question: str, limit: int) -> list[Offer]:
        """The best first; none when no word of it occurs."""
        words = list(dict.fromkeys(_WORD.findall(_split(question).lower())))[:_MAX_WORDS]
        if not words:
            return []
        # Quoted, so that AND, NEAR and * are words like any other; each may also be a beginning.
        match = " OR ".join(f'"{word}" OR "{word}" *' for word in words)
        return [self._offers[rowid] for (rowid,) in self._database.execute(_FIND, (match, limit))]

    def close(self) -> None:
        self._database.close()


def _texts(offer: Offer) -> tuple[str, str, str, str]:
    try:
        definition = _members(msgspec.json.decode(offer.definition))
    except NOT_READABLE:
        definition = {}
    title = definition.get("title") or _members(definition.get("annotations")).get("title")
    parameters = _members(_members(definition.get("inputSchema")).get("properties"))
    told = [
        f"{_split(name)} {_text(_members(about).get('description'))}" for name, about in parameters.items()
    ]
    return (
        _split(offer.public_name),
        _text(title),
        _text(definition.get("description")),
        " ".join(told)[:_MAX_TEXT_CHARS],
    )


def _members(value: Any) -> dict[str, Any]:
    """Whatever a server wrote where an object belongs."""
    return cast(dict[str, Any], value) if isinstance(value, dict) else {}


def _split(name: str) -> str:
    """`list_open_pull_requests` as the words it is made of."""
    return _BORDER.sub(" ", name.replace("_", " "))


def _text(value: object) -> str:
    return value[:_MAX_TEXT_CHARS] if isinstance(value, str) else ""
