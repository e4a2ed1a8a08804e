"""Values that are known to be secrets, because the operator configured them: found whatever stands around.

1. A value is found as it is, and as JSON (also within JSON), URLs, HTML, program texts and one line spell it,
   in base64 and in hex. Of each such form a *window* of some characters is looked for, in one alternation for
   all values; the whole form is compared only where its window is.
2. A short value is found only as a word of its own, and not encoded.
3. Forms may overlap: whatever one of them covers goes. A text that was cut within a form loses what is left.
4. Linear in any text: of one with too many windows the rest is masked.
"""

import html
import json
import re
from collections.abc import Iterable, Iterator
from itertools import product
from typing import NamedTuple
from urllib.parse import quote, quote_plus

from callgate.config.secret import encoded_forms
from callgate.recorder.redact.dsn import MASK
from callgate.recorder.redact.re2_patterns import Places, literal

# Shorter ones are part of too many honest words.
_WHOLE_WORD_CHARS = 8
_DIGITS_CHARS = 16
# A value of that length is a document: base64 of it would be too.
_LONG_CHARS = 16 * 1024
_WINDOW_CHARS, _SHORT_WINDOW_CHARS = 16, 8
_WINDOW_AMONG_CHARS = 96  # of a form: its beginning, which is there also when a text was cut
_MIN_CUT_BYTES = 16
# Of all windows: RE2 compiles twice as many within its memory.
_MAX_WINDOW_CHARS = 300_000
_PLACES_CHARS = 60_000  # of one pattern
_ANYTHING = "(?s)."
_MAX_HITS = 10_000
_MAX_DEPTH = 3  # of JSON in JSON
_RARE = 14  # see `_rareness`: ten different characters with a digit, or six with capitals too
# What every way of spelling a text leaves alone.
_PLAIN = re.compile(r"[A-Za-z0-9_.-]+", re.ASCII)
_NO_SURROGATES = re.compile(r"[^\ud800-\udfff]+")
_SPACE = re.compile(r"\s")
_PERCENT = re.compile(r"%[0-9A-F]{2}")
_JSON_ESCAPE = re.compile(r"\\u[0-9a-f]{4}")
# As encoders write it that think of HTML: none of these, Go's, .NET's.
_FOR_HTML = [str.maketrans({sign: f"\\u{ord(sign):04x}" for sign in signs}) for signs in ("", "<>&", "<>&'+")]
_CUT_SIGNS = "…".encode(), b"..."
_MASK = MASK.encode()


class _Form(NamedTuple):
    text: bytes
    offset: int  # of its window
    is_word: bool


class KnownValues:
    """For any thread."""

    def __init__(self, values: Iterable[str]) -> None:
        self.values = frozenset(value for value in values if value)
        spelled = [(form, is_word) for value in sorted(self.values) for form, is_word in _forms_of(value)]
        windows, self._forms = _windowed(spelled, _WINDOW_CHARS)
        if sum(map(len, windows)) > _MAX_WINDOW_CHARS:
            windows, self._forms = _windowed(spelled, _SHORT_WINDOW_CHARS)
        is_bounded = sum(map(len, windows)) <= _MAX_WINDOW_CHARS
        self._sizes = sorted({len(window) for window in self._forms})
        self._places = [Places("|".join(map(literal, some))) for some in _batches(windows)]
        # For a set of hints: where it finds nothing, there is none of the values. Vectorscan takes patterns
        # of bytes, and rather many short ones.
        self.hint = "|".join(map(literal, windows)) if is_bounded else _ANYTHING
        self.hints_of_bytes = [literal(_as_latin(one)) for one in windows] if is_bounded else [_ANYTHING]
        self.is_ascii = all(map(str.isascii, windows))

    def without(self, raw: bytes) -> bytes:
        """The text without any of them; the very same if there is none."""
        spans = _merged(self._spans(raw))
        if not spans:
            return raw
        parts: list[bytes] = []
        done = 0
        for start, end in spans:
            parts += (raw[done:start], _MASK)
            done = end
        return b"".join((*parts, raw[done:]))

    def without_text(self, text: str) -> str:
        raw = text.encode(errors="surrogatepass")
        cleaned = self.without(raw)
        return text if cleaned is raw else cleaned.decode(errors="surrogatepass")

    def _spans(self, raw: bytes) -> Iterator[tuple[int, int]]:
        end = _end_of(raw)
        left = _MAX_HITS
        for places in self._places:
            for first, last in places.find(raw):
                left -= 1
                if left < 0:
                    yield first, len(raw)
                    return
                # The next one is looked for behind this one: what begins within it is found here.
                for at in range(first, last):
                    yield from self._spans_at(raw, at, end)

    def _spans_at(self, raw: bytes, at: int, end: int) -> Iterator[tuple[int, int]]:
        for size in self._sizes:
            for form in self._forms.get(raw[at : at + size], ()):
                start = at - form.offset
                if start < 0:
                    continue
                stop = start + len(form.text)
                if stop > end and end - start >= _MIN_CUT_BYTES and form.text.startswith(raw[start:end]):
                    yield start, end
                elif raw.startswith(form.text, start) and (not form.is_word or _is_word(raw, start, stop)):
                    yield start, stop


def _windowed(
    spelled: Iterable[tuple[str, bool]], window_chars: int
) -> tuple[list[str], dict[bytes, list[_Form]]]:
    forms: dict[bytes, list[_Form]] = {}
    windows: dict[str, None] = {}
    for form, is_word in spelled:
        window = _window_of(form, window_chars)
        if not window:
            continue
        windows[window] = None
        text, sought = form.encode(errors="surrogatepass"), window.encode()
        forms.setdefault(sought, []).append(_Form(text, text.index(sought), is_word))
    return list(windows), forms


def _window_of(form: str, size: int) -> str:
    """The first part of it that is unlikely in other texts: a text that was cut holds the beginning."""
    head = form[:_WINDOW_AMONG_CHARS]
    for runs in (_PLAIN, _NO_SURROGATES):
        rare = next((one for one in _slices(runs, head, size) if _rareness(one) >= _RARE), None)
        if rare is not None:
            return rare
    return max(_slices(_NO_SURROGATES, head, size), key=_rareness, default="")


def _slices(runs: re.Pattern[str], text: str, size: int) -> Iterator[str]:
    for found in runs.finditer(text):
        run = found[0]
        yield from (run[at : at + size] for at in range(max(1, len(run) - size + 1)))


def _rareness(text: str) -> int:
    has_digits, has_cases = not text.isalpha(), not text.islower() and not text.isupper()
    return len(set(text)) + 4 * has_digits + 4 * has_cases


def _forms_of(value: str) -> Iterator[tuple[str, bool]]:
    """Each once, and whether it must be a word of its own."""
    is_word = len(value) < _WHOLE_WORD_CHARS or (value.isdecimal() and len(value) < _DIGITS_CHARS)
    if _PLAIN.fullmatch(value):
        spelled = {value: None}
    elif len(value) > _LONG_CHARS:
        spelled = dict.fromkeys(_in_json([value]))
    else:
        escaped = html.escape(value)
        quoted = repr(value.encode(errors="surrogatepass"))
        plain = [value, escaped, html.escape(value, quote=False), repr(value)[1:-1], quoted[2:-1]]
        plain += [escaped.replace("&#x27;", other) for other in ("&#39;", "&apos;")]
        plain += (_SPACE.sub(" ", value), " ".join(value.split()))  # in one line
        plain += (value.replace(quote_sign, 2 * quote_sign) for quote_sign in "'\"")  # SQL, CSV
        spelled = dict.fromkeys((*_in_json(plain), *_in_address(value)))
    for form in spelled:
        yield form, is_word
    if _WHOLE_WORD_CHARS <= len(value) <= _LONG_CHARS:
        for form in encoded_forms(value):
            yield form, False


def _in_json(texts: Iterable[str]) -> Iterator[str]:
    """As they are, and within a string of JSON, which may stand in another, and that in a third."""
    for text in dict.fromkeys(texts):
        yield text
        for is_ascii, is_upper, for_html in product((False, True), (False, True), _FOR_HTML):
            within = text
            for _ in range(_MAX_DEPTH):
                within = json.dumps(within, ensure_ascii=is_ascii)[1:-1].translate(for_html)
                if is_upper:
                    within = _JSON_ESCAPE.sub(lambda found: rf"\u{found[0][2:].upper()}", within)
                yield within


def _in_address(text: str) -> Iterator[str]:
    for encode, safe in product((quote, quote_plus), ("", "/")):
        escaped = encode(text, safe=safe, errors="replace")
        yield escaped
        yield _PERCENT.sub(lambda found: found[0].lower(), escaped)


def _batches(windows: Iterable[str]) -> Iterator[list[str]]:
    some: list[str] = []
    chars = 0
    for window in windows:
        if chars > _PLACES_CHARS:
            yield some
            some, chars = [], 0
        some.append(window)
        chars += len(window)
    if some:
        yield some


def _as_latin(text: str) -> str:
    """A character for each of its bytes."""
    return text.encode().decode("latin-1")


def _end_of(raw: bytes) -> int:
    """Where the text ends, without the sign that says that it was cut."""
    for sign in _CUT_SIGNS:
        if raw.endswith(sign):
            return len(raw) - len(sign)
    return len(raw)


def _is_word(raw: bytes, start: int, end: int) -> bool:
    is_spelled_break = start > 1 and raw[start - 2 : start - 1] == b"\\" and raw[start - 1 : start] in b"nrt"
    return (is_spelled_break or not _is_letter(raw[start - 1 : start])) and not _is_letter(raw[end : end + 1])


def _is_letter(char: bytes) -> bool:
    return char.isalnum() or char > b"\x7f"


def _merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
