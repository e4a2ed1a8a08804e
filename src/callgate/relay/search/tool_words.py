"""Words that people and servers use for the same thing when they speak of tools. Written by hand, and small:
a rare word helps nobody, and a word in two groups makes both less sharp.

Each group is one meaning. A word that stands in several has all their words. Stems are the search's own
affair (SQLite's porter tokenizer): "deleting" is "delete" there.
"""

from collections.abc import Mapping

_GROUPS = (
    "delete remove drop erase destroy uninstall forget clear purge discard",
    "get fetch read retrieve show view display load look",
    "list show enumerate all available",
    "create add new make insert open post start",
    "update edit change modify patch set replace adjust alter",
    "find search query lookup locate discover",
    "send post publish message write notify",
    "answer reply respond",
    "run execute call invoke evaluate exec",
    "directory folder path",
    "file document",
    "image picture photo screenshot media",
    "rename move",
    "copy fork duplicate clone",
    "history log commits",
    "log logs output",
    "pr pull_request merge_request",
    "issue bug ticket report problem",
    "approve review",
    "branch checkout switch",
    "url link address website web page site",
    "go navigate visit browse open",
    "download fetch get save",
    "upload attach push",
    "button click press tap",
    "javascript js script code",
    "user users member person people who",
    "database db",
    "table collection",
    "column field schema describe structure",
    "row record document entry item",
    "sql select statement query",
    "count number many size total",
    "big size bytes large",
    "info details metadata stat describe about",
    "deploy install release apply",
    "undo rollback revert reset rollout",
    "scale replicas",
    "container pod",
    "address geocode coordinates latitude longitude location",
    "route directions drive way travel",
    "place restaurant shop nearby near",
    "height elevation altitude high",
    "time clock date now current",
    "remember memory observation note store",
    "expire ttl timeout disappear",
    "emoji reaction react",
    "test check verify status",
    "stop cancel end quit kill close terminate",
    "performance speed slow fast",
    "error errors problem failure exception",
    "mail email",
)


def _synonyms() -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for group in _GROUPS:
        words = [word.replace("_", " ") for word in group.split()]
        for word in words:
            found.setdefault(word, {}).update(dict.fromkeys(other for other in words if other != word))
    return {word: tuple(others) for word, others in found.items()}


# A value of two words stands for both, side by side.
SYNONYMS: Mapping[str, tuple[str, ...]] = _synonyms()

# What a question is built with, and says nothing of a tool.
STOP_WORDS = frozenset(
    {
        "a", "an", "and", "are", "as", "at", "be", "been", "but", "by", "can", "could", "did", "do", "does",
        "for", "from", "had", "has", "have", "how", "i", "if", "in", "into", "is", "it", "its", "let", "me",
        "my", "of", "on", "or", "our", "please", "so", "some", "something", "that", "the", "their", "them",
        "then", "there", "these", "they", "this", "those", "to", "up", "us", "want", "was", "we", "were",
        "what", "when", "where", "which", "will", "with", "would", "yet", "you", "your",
    }
)  # fmt: skip
