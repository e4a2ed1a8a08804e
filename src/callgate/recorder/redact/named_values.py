r"""Where, in any text, the value stands that a secret's name announces.

A name is found first (`secret_names.STEMS`), then what stands around it decides where its value is:
`name: value`, `name=value` and their kin in every language and format; `--name value`; `<name>value</name>`;
`name="…" value="…"`; SQL that compares or sets; `set("name", "value")`. Tables are `text_tables`.

Hostile texts take linear time: what is looked at to the left of a name is bounded, and what is taken for a
value is not looked at again.
"""

import re
from collections.abc import Iterable

from callgate.recorder.redact import name_surroundings as around
from callgate.recorder.redact.secret_names import NameKind, kind_of, words_of
from callgate.recorder.redact.secret_values import looks_made_up
from callgate.recorder.redact.value_extents import (
    OPENING,
    Name,
    Span,
    bare_value,
    checked,
    end_of_line,
    end_of_quoted,
    indented_lines,
    list_items,
    one_word,
    open_quote,
    strings_inside,
)

_NAME_CHARS = frozenset(
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.$-\xc3\xb1\x91"
)  # and a Spanish letter's bytes
_HEX = re.compile(r"[0-9A-Fa-f]{2}")
_LEFT_CHARS = 120  # of what stands before a name
_MAX_TAG_CHARS = 500
_MIN_TOKEN_CHARS = 6


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
    if kind is NameKind.PASS and around.USER.search(text, max(0, start - 200), end + 100) is None:
        kind = NameKind.LONE_PASS
    if kind is None:
        return None
    if kind in (NameKind.TOKEN, NameKind.TOKENS) and left.endswith(" "):  # "next token", in two words
        before = words_of(left[-20:])
        if before and kind_of(f"{before[-1]}_{written}") is None:
            return None
    return Name(written, start, end, kind, left)


def _spans_of(text: str, name: Name) -> list[Span]:
    last = name.left[-1:]
    if last and last in "<:" and around.TAG_BEGINS.search(name.left):
        return _in_element(text, name)
    closed = around.CLOSED_AND_NEXT.match(text, name.end) if last == ">" else None
    if closed is not None:
        return _up_to(text, closed.end(), text.find("<", closed.end()), name)
    if last and last in "\"' =:#/" and around.ENTITLED.search(name.left):
        found = _beside(text, name)
        if found:
            return found
    sign = around.SIGN.match(text, name.end)
    # /etc/passwd: , arn:x:secret:y
    is_path = name.left.endswith(("/", ":")) and text.startswith(":", name.end)
    if sign is not None and not is_path:
        return _after_sign(text, name, sign.end(), sign["sign"])
    word = around.SQL_WORD.match(text, name.end)
    if word is not None:
        return _after_sign(text, name, word.end(), "word")
    return _after_space(text, name)


def _after_sign(text: str, name: Name, at: int, sign: str) -> list[Span]:
    quote = open_quote(text, name)
    if quote and text.startswith(quote, at):  # "Password: "
        return []
    if name.kind in (NameKind.HEADER, NameKind.COOKIE) and text[at : at + 1] not in (
        "",
        *"[{(\n'\"`\\",
    ):
        return checked(text, name, at, end_of_line(text, name, at, quote))
    for skipped in (around.TYPE_AND_SIGN, around.SIZE):
        found = skipped.match(text, at)
        at = found.end() if found else at
    doubled = around.DOUBLED.match(text, at)
    if doubled is not None:
        return checked(text, name, at + 2, doubled.end() - 2)
    opening = OPENING.match(text, at)
    if opening is not None:
        return checked(text, name, opening.end(), end_of_quoted(text, opening))
    if text.startswith(("[", "("), at):
        return strings_inside(text, name, at + 1)
    braced = around.BRACED.match(text, at) if sign == "=" else None
    if braced is not None:
        return checked(text, name, at + 1, braced.end() - 1)
    if text.startswith("{", at) and not text.startswith("{{", at):
        return []
    return _unquoted(text, name, at, sign)


def _unquoted(text: str, name: Name, at: int, sign: str) -> list[Span]:
    if name.kind is NameKind.LONE_PASS:
        return []
    call = around.CALL.match(text, at)
    if call is not None:
        return strings_inside(text, name, call.end()) if around.WRAPPER.search(call[0]) else []
    if sign == "word":
        return []
    block = around.BLOCK.match(text, at)
    if block is not None:
        return indented_lines(text, name, block.end())
    if sign == ":" and around.ITEM.match(text, at):
        return list_items(text, name, text.index("\n", at) + 1)
    return bare_value(text, name, at, sign)


def _after_space(text: str, name: Name) -> list[Span]:
    """`--name value`, `PASSWORD 'value'`, `set("name", "value")`."""
    is_quoted = name.left.endswith(('"', "'", "`"))
    if name.text.startswith("-"):
        gap = around.FLAG_VALUE.match(text, name.end)
        return [] if gap is None else one_word(text, name, gap.end())
    if (name.left.endswith((" ", "\t", ":")) and around.SPACED_BEFORE.search(name.left)) or name.text in (
        "requirepass",
        "rootpw",
        "bindpw",
    ):
        gap = around.SPACE.match(text, name.end)
        return [] if gap is None else one_word(text, name, gap.end())
    if is_quoted:
        gap = around.NEXT_ARGUMENT.match(text, name.end)
        opening = OPENING.match(text, gap.end()) if gap is not None else None
        if opening is None:
            return []
        end = end_of_quoted(text, opening)
        is_pair = around.PAIR_BEFORE.search(name.left) is not None and looks_made_up(
            text[opening.end() : end]
        )
        return checked(text, name, opening.end(), end) if around.SETTER.search(name.left) or is_pair else []
    told = around.TOLD.match(text, name.end)
    if (
        told is not None
        and (told["verb"] or name.kind is NameKind.PASSWORD)
        and around.MIXED.match(told["word"])
    ):
        return [told.span("word")]
    told = around.TOLD_STRING.match(text, name.end)
    opening = OPENING.match(text, told.end()) if told is not None else None
    if opening is not None:
        return _told_string(text, name, opening)
    if name.kind is not NameKind.PASSWORD and not name.text.isupper():
        return []
    gap = around.SPACE_AND_QUOTE.match(text, name.end)
    if gap is None:
        return []
    dollars = around.DOLLARS.match(text, gap.end())
    if dollars is not None:
        end = text.find(dollars[0], dollars.end())
        return checked(text, name, dollars.end(), end if end >= 0 else len(text))
    opening = OPENING.match(text, gap.end())
    return [] if opening is None else checked(text, name, opening.end(), end_of_quoted(text, opening))


def _told_string(text: str, name: Name, opening: re.Match[str]) -> list[Span]:
    """`My password is "x"`; a token's is believed only if it is no word."""
    start, end = opening.end(), end_of_quoted(text, opening)
    is_word = end - start < _MIN_TOKEN_CHARS or not looks_made_up(
        text[start : min(end, start + _MAX_TAG_CHARS)]
    )
    if is_word and (name.kind is not NameKind.PASSWORD or around.ADJECTIVE.match(text, start)):
        return []
    return checked(text, name, start, end)


def _in_element(text: str, name: Name) -> list[Span]:
    """`<name …>value<`, and `<name value="…"/>`."""
    tag = around.REST_OF_TAG.match(text, name.end)
    if tag is None:
        return _beside(text, name)
    return _up_to(text, tag.end(), text.find("<", tag.end()), name)


def _up_to(text: str, at: int, end: int, name: Name) -> list[Span]:
    if text.startswith(around.CDATA, at):
        at += len(around.CDATA)
        end = text.find("]]>", at)
    if end < 0:
        end = len(text)
    inside = text[at:end]
    start = at + len(inside) - len(inside.lstrip())
    return checked(text, name, start, start + len(inside.strip()))


def _beside(text: str, name: Name) -> list[Span]:
    """`name="password" value="…"`, in either order: of a tag, an object, an entry; a form's part."""
    part = around.FORM_PART.match(text, name.end)
    if part is not None:
        return checked(text, name, part.end(), end_of_line(text, name, part.end(), ""))
    limit = min(len(text), name.end + _MAX_TAG_CHARS)
    ends = around.END_OF_ENTRY.search(text, name.end, limit)
    limit = ends.start() if ends else limit
    found = around.VALUE_WORD.search(text, name.end, limit)
    if found is not None:
        return _after_sign(text, name, found.end(), "=")
    tag = around.END_OF_OPEN_TAG.match(text, name.end)
    if tag is not None and around.IN_TAG.search(name.left):
        return _up_to(text, tag.end(), text.find("<", tag.end()), name)
    opens = max(name.left.rfind("<"), name.left.rfind("{"))
    if opens < 0:
        return []
    before = around.VALUE_WORD.search(text, name.start - len(name.left) + opens, name.start)
    return [] if before is None else _after_sign(text, name, before.end(), "=")
