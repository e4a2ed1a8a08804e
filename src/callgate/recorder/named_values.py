r"""Where, in any text, the value stands that a secret's name announces.

A name is found first (`secret_names.STEMS`), then what stands around it decides where its value is:
`name: value`, `name=value` and their kin in every language and format; `--name value`; `<name>value</name>`;
`name="…" value="…"`; SQL that compares or sets; `set("name", "value")`. Tables are `text_tables`.

Hostile texts take linear time: what is looked at to the left of a name is bounded, and what is taken for a
value is not looked at again.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from callgate.recorder.secret_names import Kind, kind_of, words_of
from callgate.recorder.secret_values import is_secret_value, looks_made_up

Span = tuple[int, int]

_NAME_CHARS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-")
_HEX = re.compile(r"[0-9A-Fa-f]{2}")
_LEFT_CHARS = 120  # of what stands before a name
_MAX_TAG_CHARS = 500
_JUDGED_CHARS = 2000  # of a value: what is honest is short, or says so with its first words
_SENTENCE_CHARS = 40  # what follows a word, to tell prose from a value
_MAX_STRINGS = 256  # of a list; behind them everything is masked

_FLAGS = re.ASCII
# ---- between a name and its value
_CLOSERS = r"(?:\\*[\"'`]|[\])]|%5[dD]|\*\*|::\w+|[?!](?=[:\s]))*"
_SIGN = re.compile(
    _CLOSERS + r"(?:\s+(?:is|was))?[ \t]*(?P<sign>:=|=>|[=!]==?|<>|=~|:(?!:)|=|%3[dD]|%3[aA])(?:\*\*)?[ \t]*", _FLAGS
)
_SQL_WORD = re.compile(
    _CLOSERS + r"\s+(?:not\s+)?(?:i?like|in|rlike|regexp|to|between|for\s+[^\s=]{1,100}\s*=|"
    r"(?:n?varchar|char|text)(?:\(\w{1,5}\))?\s*=)\s*(?=[(\"'A-Za-z])",
    _FLAGS | re.IGNORECASE,
)
_NEXT_ARGUMENT = re.compile(r"\\*[\"']\s*,\s*(?=\\*[\"'])", _FLAGS)
_TYPE_AND_SIGN = re.compile(r"[A-Za-z][\w<>\[\]|. ]{0,30}?\s*=\s*(?=[\"'`])", _FLAGS)
_SIZE = re.compile(r"\s*string\(\d{1,9}\)\s*", _FLAGS)
_DOLLARS = re.compile(r"\$(\w{0,20})\$", _FLAGS)
_CALL = re.compile(r"(?:await\s+|new\s+)?[A-Za-z_$][\w.$]{0,100}\(", _FLAGS)
_WRAPPER = re.compile(
    r"(?:^|\.)(?:md5|sha\d{0,3}|sha2|crypt|password|encrypt|aes_encrypt|hash\w*|bcrypt\w*|secretstr|secret|str|string|bytes"
    r"|from|b64encode|base64|unhex|upper|lower|concat|convert|cast|digest|old_password|any|all|array)\($",
    re.IGNORECASE,
)
_REFERENCE = re.compile(
    r"(?:(?:process|os|env|self|this|config|settings|ctx|req|request|args|opts|options|params|props|state|data|creds|secrets"
    r"|var|vars|local|module|event|context|body|form|session|cfg|conf|app|import|node|each|values|user|[a-z]{1,2})"
    r"(?:\.[A-Za-z_]\w*|\[[^\]\s]{1,60}\])+|[A-Z][A-Za-z]{1,30}\.[A-Z_a-z]+|[A-Za-z_]\w{0,40}\[[^\]\s]{1,60}\])[,;:)]*",
    _FLAGS,
)
_DOTTED = re.compile(r"[A-Za-z_]\w{0,60}(?:\.[A-Za-z_]\w{0,60})+", _FLAGS)
# ---- what a name stands in
_FLAG_VALUE = re.compile(r"(?:\s+|\\*[\"']\s*,\s*)(?![-|&;])", _FLAGS)
_SPACED_BEFORE = re.compile(r"(?:\bENV|\bsetx|\bconfigure\s+set|\blogin\s+\S{1,100})\s+$", _FLAGS)
_SETTER = re.compile(
    r"(?:set|put|add|append|header|env|insert|store|save|define|property|config)\w*\s*\(\s*(?:[\w.]{1,40}\s*,\s*)?\\*[\"']$",
    _FLAGS | re.IGNORECASE,
)
_PAIR_BEFORE = re.compile(r"[(\[]\s*\\*[\"']$", _FLAGS)
_LINE_BEGINS = re.compile(
    r"(?:^|[\r\n]|\\[nr])[ \t>*+#]*(?:- )?\**(?:export\s+|set\s+|setx\s+|ENV\s+|\$[eE]nv:|@|your\s+|the\s+)?$", _FLAGS | re.IGNORECASE
)
_QUOTE_OPENS = re.compile(r"(?:^|[\s=(\[,:{])(\\*[\"'])$", _FLAGS)
_ENTITLED = re.compile(
    r"(?:\b(?:name|key|id|type|field|label|property|header|variable|param|parameter|parameterkey)\\*[\"']?\s*[:=]\s*|"
    r"\bvariable\s+)\\*[\"']?[\w./ #-]{0,60}$",
    _FLAGS | re.IGNORECASE,
)
_VALUE_WORD = re.compile(r"\b(?:parameter)?(?:value|content|default)\\*[\"']?\s*[:=]\s*", _FLAGS | re.IGNORECASE)
_END_OF_ENTRY = re.compile(r"[>}]|\n\s*-|\n\s*\n|(?<=\n)\S", _FLAGS)
_FORM_PART = re.compile(r"\"\r?\n\r?\n", _FLAGS)
_TAG_BEGINS = re.compile(r"<(?:[\w.-]{1,40}:)?$", _FLAGS)
_REST_OF_TAG = re.compile(r"(?:[^<>/\"']|/(?!>)|\"[^\"<>]*\"|'[^'<>]*'){0,50}>", _FLAGS)
_CLOSED_AND_NEXT = re.compile(r"\s*</(?:key|name|dt)>\s*<[\w:]{1,40}>", _FLAGS | re.IGNORECASE)
_CDATA = "<![CDATA["
# ---- values
_OPENING = re.compile(r"(?:[A-Za-z]{1,2}(?=[\"'])|@(?=\"))?(?P<slashes>\\*)(?P<quote>\"\"\"|'''|[\"'`])", _FLAGS)
_REST_IN = {
    quote: re.compile(rf"[^{quote}\\]*(?:(?:\\.|{quote}{quote})[^{quote}\\]*)*", _FLAGS | re.DOTALL) for quote in "\"'`"
}
_DOUBLED = re.compile(r"''(?=[^'\s,);])[^']*''", _FLAGS)
_BARE = re.compile(r"(?:[^\s,;&|<>\"'`)}\]\\%]|\\(?![nrt\"'\\])|%(?!26|0[aA]|20))+", _FLAGS)
_BRACED = re.compile(r"\{[^{}\n]{1,200}\}(?=;|$|\s)", _FLAGS)
_END_OF_LINE = re.compile(r"[\r\n]|\\[nr]", _FLAGS)
_NEXT_MEMBER = re.compile(r"\s+[\w.]{1,60}=|[;&]\s*[\w\[\]% ]{1,60}=|,\s*\\*[\"']?[\w-]{1,60}\\*[\"']?\s*[:=]", _FLAGS)
_COMMENT = re.compile(r"\s+#|\s*[;,]$", _FLAGS)
_BLOCK = re.compile(r"[|>][+-]?\d?[ \t]*\r?\n", _FLAGS)
_ITEM = re.compile(r"\s*\n([ \t]*)- ", _FLAGS)
_LIST_ITEM = re.compile(r"([ \t]*)- +([^\n:]+)(?:\n|$)", _FLAGS)
_BEFORE_STRING = re.compile(r"[\s,]{0,50}(?:\w{0,20}[(\[]\s{0,9}){0,3}", _FLAGS)
_SPACE = re.compile(r"\s+", _FLAGS)
_SPACE_AND_QUOTE = re.compile(r"\s+(?=[A-Za-z]?[\"'$])", _FLAGS)
_UNQUOTED_WORD = re.compile(r"[^\s\"']+", _FLAGS)
_END_OF_OPEN_TAG = re.compile(r"[^<>]{0,200}[^/<>]>(?=[^<\s])", _FLAGS)
_IN_TAG = re.compile(r"<[^<>]{0,100}$", _FLAGS)
_LINE = re.compile(r"([ \t]*)([^\n]*)(?:\n|$)", _FLAGS)
_USER = re.compile("user|login|host|uid|email", _FLAGS | re.IGNORECASE)


class Name(NamedTuple):
    text: str
    start: int
    end: int
    kind: Kind
    left: str  # what stands before it, bounded


def value_spans(text: str, hits: Iterable[Span]) -> tuple[list[Span], list[Name]]:
    """Where values stand, in order; and the secrets' names beside which none does."""
    spans: list[Span] = []
    alone: list[Name] = []
    done = 0
    for hit_start, hit_end in hits:
        if hit_end <= done:
            continue
        start, end = _bounds(text, hit_start, hit_end, done)
        done = end
        if hit_start < start:
            continue
        name = _name(text, start, end)
        if name is None:
            continue
        found = _spans_of(text, name)
        if found:
            spans += found
            done = max(done, *(span_end for _, span_end in found))
        else:
            alone.append(name)
    return spans, alone


def masked(text: str, spans: list[Span], mask: str) -> str:
    parts: list[str] = []
    done = 0
    for start, end in sorted(spans):
        if start >= done and end > start:
            parts += (text[done:start], mask)
            done = end
    parts.append(text[done:])
    return "".join(parts)


def _bounds(text: str, start: int, end: int, done: int) -> Span:
    while start > done and text[start - 1] in _NAME_CHARS:
        start -= 1
    while end > start and text[end - 1] not in _NAME_CHARS:  # a stem may end with the sign behind a name
        end -= 1
    size = len(text)
    while end < size and text[end] in _NAME_CHARS:
        end += 1
    if text[end - 1] == "." and end - 1 > start:
        end -= 1
    return start, end


def _name(text: str, start: int, end: int) -> Name | None:
    before = text[start - 1 : start]
    if before == "\\" and text[start] in "nrt":  # a line break that is spelled
        start += 1
    elif before == "%" and _HEX.match(text, start):  # an address within an address
        start += 2
    written = text[max(start, end - 100) : end]
    kind = kind_of(written)
    left = text[max(0, start - _LEFT_CHARS) : start]
    if kind is Kind.PASS and _USER.search(text, max(0, start - 200), end + 100) is None:
        kind = None
    if kind is None:
        return None
    if kind in (Kind.TOKEN, Kind.TOKENS) and left.endswith(" "):  # "next token", in two words
        before = words_of(left[-20:])
        if before and kind_of(f"{before[-1]}_{written}") is None:
            return None
    return Name(written, start, end, kind, left)


def _spans_of(text: str, name: Name) -> list[Span]:
    last = name.left[-1:]
    if last and last in "<:" and _TAG_BEGINS.search(name.left):
        return _in_element(text, name)
    closed = _CLOSED_AND_NEXT.match(text, name.end) if last == ">" else None
    if closed is not None:
        return _up_to(text, closed.end(), text.find("<", closed.end()), name)
    if last and last in "\"' =:#/" and _ENTITLED.search(name.left):
        found = _beside(text, name)
        if found:
            return found
    sign = _SIGN.match(text, name.end)
    if sign is not None and not (name.left.endswith("/") and sign["sign"] == ":"):
        return _after_sign(text, name, sign.end(), sign["sign"])
    word = _SQL_WORD.match(text, name.end)
    if word is not None:
        return _after_sign(text, name, word.end(), "word")
    return _after_space(text, name)


def _after_sign(text: str, name: Name, at: int, sign: str) -> list[Span]:
    quote = _open_quote(text, name)
    if quote and text.startswith(quote, at):  # "Password: "
        return []
    if name.kind in (Kind.HEADER, Kind.COOKIE) and text[at : at + 1] not in ("", *"[{(\n'\"`\\"):
        return _checked(text, name, at, _end_of_line(text, name, at, quote))
    for skipped in (_TYPE_AND_SIGN, _SIZE):
        found = skipped.match(text, at)
        at = found.end() if found else at
    doubled = _DOUBLED.match(text, at)
    if doubled is not None:
        return _checked(text, name, at + 2, doubled.end() - 2)
    opening = _OPENING.match(text, at)
    if opening is not None:
        return _checked(text, name, opening.end(), _end_of_quoted(text, opening))
    if text.startswith(("[", "("), at):
        return _strings_inside(text, name, at + 1)
    braced = _BRACED.match(text, at) if sign == "=" else None
    if braced is not None:
        return _checked(text, name, at + 1, braced.end() - 1)
    if text.startswith("{", at) and not text.startswith("{{", at):
        return []
    call = _CALL.match(text, at)
    if call is not None:
        return _strings_inside(text, name, call.end()) if _WRAPPER.search(call[0]) else []
    if sign == "word":
        return []
    block = _BLOCK.match(text, at)
    if block is not None:
        return _indented(text, name, block.end())
    item = _ITEM.match(text, at) if sign == ":" else None
    if item is not None:
        return _items(text, name, text.index("\n", at) + 1)
    return _bare(text, name, at, sign)


def _after_space(text: str, name: Name) -> list[Span]:
    """`--name value`, `PASSWORD 'value'`, `set("name", "value")`."""
    is_quoted = name.left.endswith(('"', "'", "`"))
    if name.text.startswith("-"):
        gap = _FLAG_VALUE.match(text, name.end)
        return [] if gap is None else _word(text, name, gap.end())
    if (name.left.endswith((" ", "\t")) and _SPACED_BEFORE.search(name.left)) or name.text in ("requirepass", "rootpw"):
        gap = _SPACE.match(text, name.end)
        return [] if gap is None else _word(text, name, gap.end())
    if is_quoted:
        gap = _NEXT_ARGUMENT.match(text, name.end)
        opening = gap and _OPENING.match(text, gap.end())
        if opening is None or opening == "":
            return []
        end = _end_of_quoted(text, opening)
        is_pair = _PAIR_BEFORE.search(name.left) is not None and looks_made_up(text[opening.end() : end])
        return _checked(text, name, opening.end(), end) if _SETTER.search(name.left) or is_pair else []
    if name.kind is not Kind.PASSWORD and not name.text.isupper():
        return []
    gap = _SPACE_AND_QUOTE.match(text, name.end)
    if gap is None:
        return []
    dollars = _DOLLARS.match(text, gap.end())
    if dollars is not None:
        end = text.find(dollars[0], dollars.end())
        return _checked(text, name, dollars.end(), end if end >= 0 else len(text))
    opening = _OPENING.match(text, gap.end())
    return [] if opening is None else _checked(text, name, opening.end(), _end_of_quoted(text, opening))


def _word(text: str, name: Name, at: int) -> list[Span]:
    opening = _OPENING.match(text, at)
    if opening is not None:
        return _checked(text, name, opening.end(), _end_of_quoted(text, opening))
    found = _UNQUOTED_WORD.match(text, at)
    if found is None or found[0].lower() in ("to", "option", "flag", "argument", "is", "or", "and", "for", "with"):
        return []
    if found[0].isupper() and found[0].isalpha():  # as a manual has it: --token TOKEN
        return []
    return _checked(text, name, at, found.end())


def _in_element(text: str, name: Name) -> list[Span]:
    """`<name …>value<`, and `<name value="…"/>`."""
    tag = _REST_OF_TAG.match(text, name.end)
    if tag is None:
        return _beside(text, name)
    return _up_to(text, tag.end(), text.find("<", tag.end()), name)


def _up_to(text: str, at: int, end: int, name: Name) -> list[Span]:
    if text.startswith(_CDATA, at):
        at += len(_CDATA)
        end = text.find("]]>", at)
    if end < 0:
        end = len(text)
    inside = text[at:end]
    start = at + len(inside) - len(inside.lstrip())
    return _checked(text, name, start, start + len(inside.strip()))


def _beside(text: str, name: Name) -> list[Span]:
    """`name="password" value="…"` in either order, in a tag, an object or an entry of a list; or a form's part."""
    part = _FORM_PART.match(text, name.end)
    if part is not None:
        return _checked(text, name, part.end(), _end_of_line(text, name, part.end(), ""))
    limit = min(len(text), name.end + _MAX_TAG_CHARS)
    ends = _END_OF_ENTRY.search(text, name.end, limit)
    limit = ends.start() if ends else limit
    found = _VALUE_WORD.search(text, name.end, limit)
    if found is not None:
        return _after_sign(text, name, found.end(), "=")
    tag = _END_OF_OPEN_TAG.match(text, name.end)
    if tag is not None and _IN_TAG.search(name.left):
        return _up_to(text, tag.end(), text.find("<", tag.end()), name)
    opens = max(name.left.rfind("<"), name.left.rfind("{"))
    if opens < 0:
        return []
    before = _VALUE_WORD.search(text, name.start - len(name.left) + opens, name.start)
    return [] if before is None else _after_sign(text, name, before.end(), "=")


def _bare(text: str, name: Name, at: int, sign: str) -> list[Span]:
    quote = _open_quote(text, name)
    if not quote and not _LINE_BEGINS.search(name.left):
        found = _BARE.match(text, at)
        if found is None:
            return []
        sentence = text[at : min(found.end(), at + _JUDGED_CHARS) + _SENTENCE_CHARS].partition("\n")[0]
        return _unless_code(text, name, (at, found.end()), sentence)
    # A line of its own: the value may hold spaces and signs, unless another member follows.
    end = _end_of_line(text, name, at, quote)
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
    return _checked(text, name._replace(text=last_part), *span)


def _checked(text: str, name: Name, start: int, end: int) -> list[Span]:
    is_secret = is_secret_value(name.kind, text[start : min(end, start + _JUDGED_CHARS)], name.text)
    return [(start, end)] if is_secret else []


def _strings_inside(text: str, name: Name, at: int) -> list[Span]:
    """The strings up to the end of a list or a call."""
    spans: list[Span] = []
    for _ in range(_MAX_STRINGS):
        gap = _BEFORE_STRING.match(text, at)
        at = gap.end() if gap else at
        opening = _OPENING.match(text, at)
        if opening is None:
            return spans
        end = _end_of_quoted(text, opening)
        spans += _checked(text, name, opening.end(), end)
        at = end + len(opening["slashes"]) + len(opening["quote"])
    return [*spans, (at, len(text))]


def _end_of_quoted(text: str, opening: re.Match[str]) -> int:
    slashes, quote = opening["slashes"], opening["quote"]
    if slashes or len(quote) > 1:
        closing = re.compile(rf"(?<!\\){re.escape(slashes)}{quote}").search(text, opening.end())
        return closing.start() if closing else len(text)
    found = _REST_IN[quote].match(text, opening.end())
    return found.end() if found else len(text)


def _open_quote(text: str, name: Name) -> str:
    """Of the string that the name begins: `-H 'X-Api-Key: x'`."""
    opened = _QUOTE_OPENS.search(name.left) if name.left.endswith(('"', "'")) else None
    return "" if opened is None or text.startswith(opened[1], name.end) else opened[1]


def _end_of_line(text: str, name: Name, at: int, quote: str) -> int:
    """Or of the string that the name begins. A long line is looked through only if it may be a value at all."""
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


def _indented(text: str, name: Name, at: int) -> list[Span]:
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


def _items(text: str, name: Name, at: int) -> list[Span]:
    spans: list[Span] = []
    found = _LIST_ITEM.match(text, at)
    while found is not None:
        spans += _checked(text, name, *found.span(2))
        found = _LIST_ITEM.match(text, found.end())
    return spans
