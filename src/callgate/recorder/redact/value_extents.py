"""How far the value goes that begins at a place of a text: a string, a word, a line, a block, a list; and
whether it is a secret at all. What begins it is told by `named_values`.
"""

import re
from typing import NamedTuple

from callgate.recorder.redact.secret_names import NameKind, kind_of
from callgate.recorder.redact.secret_values import is_secret_value

Span = tuple[int, int]

_JUDGED_CHARS = 2000  # of a value: what is honest is short, or says so with its first words
_SENTENCE_CHARS = 40  # what follows a word, to tell prose from a value
_MAX_STRINGS = 256  # of a list; behind them everything is masked

_FLAGS = re.ASCII
_REFERENCE = re.compile(
    r"(?:(?:process|os|env|self|this|config|settings|ctx|req|request|args|opts|options|params|props"
    r"|state|data|creds|secrets|var|vars|local|module|event|context|body|form|session|cfg|conf|app|import|node|each|values"
    r"|user|[a-z]{1,2})"
    r"(?:\.[A-Za-z_]\w*|\[[^\]\s]{1,60}\])+|[A-Z][A-Za-z]{1,30}\.[A-Z_a-z]+"
    r"|[A-Za-z_]\w{0,40}\[[^\]\s]{1,60}\])[,;:)]*",
    _FLAGS,
)
_DOTTED = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60})+", _FLAGS)
_LINE_BEGINS = re.compile(
    r"(?:^|[\r\n]|\\[nr])[ \t>*+#]*(?:- )?\**"
    r"(?:export\s+|set\s+|setx\s+|ENV\s+|\$[eE]nv:|@|your\s+|the\s+)?$",
    _FLAGS | re.IGNORECASE,
)
_QUOTE_OPENS = re.compile(r"(?:^|[\s=(\[,:{])(\\*[\"'])$", _FLAGS)
# ---- values
OPENING = re.compile(
    r"(?:[A-Za-z]{1,2}(?=[\"'])|@(?=\"))?(?P<slashes>\\*)(?P<quote>\"\"\"|'''|[\"'`])", _FLAGS
)
_REST_IN = {
    quote: re.compile(rf"[^{quote}\\]*(?:(?:\\.|{quote}{quote})[^{quote}\\]*)*", _FLAGS | re.DOTALL)
    for quote in "\"'`"
}
_BARE = re.compile(r"(?:[^\s,;&|<>\"'`)}\]\\%]|\\(?![nrt\"'\\])|%(?!26|0[aA]|20))+", _FLAGS)
_END_OF_LINE = re.compile(r"[\r\n]|\\[nr]", _FLAGS)
_NEXT_MEMBER = re.compile(
    r"\s+[\w.]{1,60}=|[;&]\s*[\w\[\]% ]{1,60}=|,\s*\\*[\"']?[\w-]{1,60}\\*[\"']?\s*[:=]", _FLAGS
)
_COMMENT = re.compile(r"\s+#|\s*[;,]$", _FLAGS)
_LIST_ITEM = re.compile(r"([ \t]*)- +([^\n:]+)(?:\n|$)", _FLAGS)
_BEFORE_STRING = re.compile(r"[\s,]{0,50}(?:\w{0,20}[(\[]\s{0,9}){0,3}", _FLAGS)
_SPACE = re.compile(r"\s+", _FLAGS)
_UNQUOTED_WORD = re.compile(r"[^\s\"']+", _FLAGS)
_LINE = re.compile(r"([ \t]*)([^\n]*)(?:\n|$)", _FLAGS)


class Name(NamedTuple):
    text: str
    start: int
    end: int
    kind: NameKind
    left: str  # what stands before it, bounded


def one_word(text: str, name: Name, at: int) -> list[Span]:
    opening = OPENING.match(text, at)
    if opening is not None:
        return checked(text, name, opening.end(), end_of_quoted(text, opening))
    found = _UNQUOTED_WORD.match(text, at)
    if found is None or found[0].lower() in (
        "|",
        "to",
        "option",
        "flag",
        "argument",
        "is",
        "or",
        "and",
        "for",
        "with",
    ):
        return []
    if found[0].isupper() and found[0].isalpha():  # as a manual has it: --token TOKEN
        return []
    return checked(text, name, at, found.end())


def bare_value(text: str, name: Name, at: int, sign: str) -> list[Span]:
    quote = open_quote(text, name)
    if not quote and not _LINE_BEGINS.search(name.left):
        found = _BARE.match(text, at)
        if found is None:
            return []
        sentence = text[at : min(found.end(), at + _JUDGED_CHARS) + _SENTENCE_CHARS].partition("\n")[0]
        return _unless_code(text, name, (at, found.end()), sentence)
    # A line of its own: the value may hold spaces and signs, unless another member follows.
    end = end_of_line(text, name, at, quote)
    for following in (_NEXT_MEMBER, _COMMENT):
        found = following.search(text, at, min(end, at + _JUDGED_CHARS))
        end = found.start() if found else end
    if sign == "=" and not text[at - 1].isspace() and is_secret_value(name.kind, text[at:end], name.text):
        space = _SPACE.search(text, at, end)  # DB_PASSWORD=x command
        end = space.start() if space else end
    return _unless_code(text, name, (at, end), text[at : min(end, at + _JUDGED_CHARS)])


def _unless_code(text: str, name: Name, span: Span, sentence: str) -> list[Span]:
    """What refers to a value is none: `os.environ["X"]`, `b.token`, `getToken()`."""
    first = sentence.strip().partition(" ")[0].rstrip(",;)")
    if _REFERENCE.fullmatch(first) or (_DOTTED.fullmatch(first) and kind_of(first) is not None):
        return []
    last_part = name.text.rpartition(".")[2]
    if not is_secret_value(name.kind, sentence, last_part):
        return []
    return checked(text, name._replace(text=last_part), *span)


def checked(text: str, name: Name, start: int, end: int) -> list[Span]:
    is_secret = is_secret_value(name.kind, text[start : min(end, start + _JUDGED_CHARS)], name.text)
    return [(start, end)] if is_secret else []


def strings_inside(text: str, name: Name, at: int) -> list[Span]:
    """The strings up to the end of a list or a call."""
    spans: list[Span] = []
    for _ in range(_MAX_STRINGS):
        gap = _BEFORE_STRING.match(text, at)
        at = gap.end() if gap else at
        opening = OPENING.match(text, at)
        if opening is None:
            return spans
        end = end_of_quoted(text, opening)
        spans += checked(text, name, opening.end(), end)
        at = end + len(opening["slashes"]) + len(opening["quote"])
    return [*spans, (at, len(text))]


def end_of_quoted(text: str, opening: re.Match[str]) -> int:
    slashes, quote = opening["slashes"], opening["quote"]
    if slashes or len(quote) > 1:
        closing = re.compile(rf"(?<!\\){re.escape(slashes)}{quote}").search(text, opening.end())
        return closing.start() if closing else len(text)
    found = _REST_IN[quote].match(text, opening.end())
    return found.end() if found else len(text)


def open_quote(text: str, name: Name) -> str:
    """Of the string that the name begins: `-H 'X-Api-Key: x'`."""
    opened = _QUOTE_OPENS.search(name.left) if name.left.endswith(('"', "'")) else None
    return "" if opened is None or text.startswith(opened[1], name.end) else opened[1]


def end_of_line(text: str, name: Name, at: int, quote: str) -> int:
    """Or of the string that the name begins. A long line is looked through only if it may be a value."""
    near = at + _JUDGED_CHARS
    found = _END_OF_LINE.search(text, at, near)
    if found is not None:
        end = found.start()
    elif len(text) <= near or not is_secret_value(name.kind, text[at:near], name.text):
        end = min(len(text), near)
    else:
        found = _END_OF_LINE.search(text, at)
        end = found.start() if found else len(text)
    closing = text.find(quote, at, end) if quote else -1
    return closing if closing >= 0 else end


def indented_lines(text: str, name: Name, at: int) -> list[Span]:
    """A block of YAML: the lines that are further in than the name."""
    line = name.left.rpartition("\n")[2]
    depth = len(line) - len(line.lstrip())
    spans: list[Span] = []
    for found in _LINE.finditer(text, at):
        if found[2] and len(found[1]) <= depth:
            break
        if found[2]:
            spans.append(found.span(2))
        if found.end() == len(text):
            break
    return spans


def list_items(text: str, name: Name, at: int) -> list[Span]:
    spans: list[Span] = []
    found = _LIST_ITEM.match(text, at)
    while found is not None:
        spans += checked(text, name, *found.span(2))
        found = _LIST_ITEM.match(text, found.end())
    return spans
