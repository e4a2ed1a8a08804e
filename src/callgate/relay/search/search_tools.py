"""Which tools fit a few words: BM25 by SQLite's FTS5, a tool's name before what is said about it.

An index lives in memory, is made of one catalog, and is thrown away with it: a thousand tools take some
milliseconds. Words of the question are alternatives, so that a sentence finds what its best words find. Each
counts once for a tool, by the best of three ways: as it is, as the beginning of a word, or by a word that
means the same.
"""

import math
import re
from collections.abc import Iterator, Sequence

from callgate.model.offers import Offer
from callgate.relay.search.short_tools import definition_of, members_of
from callgate.relay.search.tool_words import STOP_WORDS, SYNONYMS

# Names and texts apart: else a long description would make the words of its tool's name count for less.
_CREATE = """
CREATE VIRTUAL TABLE names USING fts5(server, name, title, tokenize = 'porter unicode61');
CREATE VIRTUAL TABLE texts USING fts5(brief, description, parameters, tokenize = 'porter unicode61');
"""
_FIND_NAMES = "SELECT rowid, -bm25(names, 1.0, 3.0, 1.5) FROM names WHERE names MATCH ?"
# The first sentence says what a tool does, the rest what else there is to know.
_FIND_TEXTS = "SELECT rowid, -bm25(texts, 1.5, 0.5, 0.25) FROM texts WHERE texts MATCH ?"
_FTS_LEAST_RARITY = 1e-6  # FTS5's own, of a word that is in more than half of all rows
_EXACT, _BEGINNING, _SAME_MEANING = 1.0, 0.5, 0.6
_MIN_BEGINNING_CHARS = 3
_WORD = re.compile(r"[^\W_]+")
# Camel case and digits are borders too: `getUserById2` is found by "user".
_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Za-z])(?=[0-9])")
_SENTENCE_END = re.compile(r"[.:;]\s|\n")
# A question, not a document.
_MAX_WORDS = 32
_MAX_TEXT_CHARS = 4_000


class ToolIndex:
    def __init__(self, offers: Sequence[Offer]) -> None:
        # Here and not above: 2 MB that a gateway without `tool_search` does without.
        import sqlite3

        self._offers = offers
        self._size = len(offers)
        # Made and asked in threads, one after the other.
        self._database = sqlite3.connect(":memory:", check_same_thread=False)
        self._database.executescript(_CREATE)
        for number, offer in enumerate(offers):
            names, texts = _texts(offer)
            self._database.execute(
                "INSERT INTO names (rowid, server, name, title) VALUES (?, ?, ?, ?)", (number, *names)
            )
            self._database.execute(
                "INSERT INTO texts (rowid, brief, description, parameters) VALUES (?, ?, ?, ?)",
                (number, *texts),
            )

    def find(self, question: str, limit: int) -> list[Offer]:
        """The best first; none when no word of it occurs."""
        scores: dict[int, float] = {}
        for word in _words(question):
            for number, score in self._scores(word).items():
                scores[number] = scores.get(number, 0.0) + score
        best = sorted(scores, key=lambda number: (-scores[number], number))
        return [self._offers[number] for number in best[:limit]]

    def close(self) -> None:
        self._database.close()

    def _scores(self, word: str) -> dict[int, float]:
        """What one word of the question counts for each tool.

        It is as rare as all the words that it may stand for together. By itself each would be rarer, and the
        rarest synonym would count most.
        """
        best: dict[int, float] = {}
        for match, worth in _ways(word):
            found: dict[int, float] = {}
            for statement in (_FIND_NAMES, _FIND_TEXTS):
                rows = self._database.execute(statement, (match,)).fetchall()
                rarity = max(math.log((self._size - len(rows) + 0.5) / (len(rows) + 0.5)), _FTS_LEAST_RARITY)
                for number, score in rows:
                    found[number] = found.get(number, 0.0) + score / rarity
            for number, score in found.items():
                best[number] = max(best.get(number, 0.0), worth * score)
        rarity = math.log(1 + (self._size - len(best) + 0.5) / (len(best) + 0.5))
        return {number: rarity * score for number, score in best.items()}


def _words(question: str) -> list[str]:
    words = list(dict.fromkeys(_WORD.findall(_split(question).lower())))[:_MAX_WORDS]
    return [word for word in words if word not in STOP_WORDS] or words


def _ways(word: str) -> Iterator[tuple[str, float]]:
    """Quoted, so that AND, NEAR and * are words like any other."""
    yield f'"{word}"', _EXACT
    if len(word) >= _MIN_BEGINNING_CHARS:
        yield f'"{word}" *', _BEGINNING
    # Also of its singular: the table has the plain forms.
    for other in SYNONYMS.get(word) or SYNONYMS.get(word.removesuffix("s")) or ():
        yield f'"{other}"', _SAME_MEANING


def _texts(offer: Offer) -> tuple[tuple[str, str, str], tuple[str, str, str]]:
    """For the index of names, and for the one of texts."""
    definition = definition_of(offer)
    title = definition.get("title") or members_of(definition.get("annotations")).get("title")
    parameters = members_of(members_of(definition.get("inputSchema")).get("properties"))
    told = [
        f"{_split(name)} {_text(members_of(about).get('description'))}" for name, about in parameters.items()
    ]
    description = _text(definition.get("description")).strip()
    brief = _SENTENCE_END.split(description, maxsplit=1)[0]
    return (
        (_split(offer.route.upstream), _split(offer.route.native_name), _text(title)),
        (brief, description[len(brief) :], " ".join(told)[:_MAX_TEXT_CHARS]),
    )


def _split(name: str) -> str:
    """`list_open_pull_requests` as the words it is made of."""
    return _BORDER.sub(" ", name.replace("_", " "))


def _text(value: object) -> str:
    return value[:_MAX_TEXT_CHARS] if isinstance(value, str) else ""
