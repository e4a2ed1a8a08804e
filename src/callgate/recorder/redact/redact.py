"""Secrets out, structure kept, before anything is written or shown.

1. A value under a secret's name (`secret_names`, any depth, also inside JSON held in a string) becomes
   "***", and so do the cells of a column of that name (`secret_members`, `json_tables`).
2. In any text: the value that such a name announces (`named_values`, `text_tables`), what looks like a secret
   (`secret_patterns`, `secret_commands`), and a password inside a DSN.
3. What is known to be a secret, because the operator configured it, in any text (`known_values`).
4. The operator's keys are compared whole, but in any spelling: `home_address` is `homeAddress` too, and not
   `old_home_address`. Whatever stands under them goes.
5. Text in which nothing was found keeps its exact bytes.
6. Never raises and takes linear time, whatever the caller made up: what cannot be redacted is masked whole.
"""

import json
import re
from collections.abc import Iterable, Sequence

import msgspec

from callgate.recorder.redact.dsn import MASK, mask_passwords
from callgate.recorder.redact.known_values import KnownValues
from callgate.recorder.redact.named_values import masked, value_spans
from callgate.recorder.redact.quoted_texts import QuotedTexts
from callgate.recorder.redact.re2_patterns import Mask, PatternSet, Places, literal
from callgate.recorder.redact.secret_commands import COMMANDS
from callgate.recorder.redact.secret_members import DocumentCleaner
from callgate.recorder.redact.secret_names import STEMS, NameKind, kind_of
from callgate.recorder.redact.secret_patterns import KINDS
from callgate.recorder.redact.secret_values import looks_made_up
from callgate.recorder.redact.text_tables import insert_spans, table_spans
from callgate.recorder.redact.vector_scan import VectorScan

MASKED_JSON = f'"{MASK}"'.encode()

# What is longer and under suspicion is masked whole: taking a document apart holds the interpreter's lock,
# and nobody reads a megabyte in the record.
_MAX_PARSED_BYTES = 1024 * 1024
# Escapes can spell any of the others: what an ASCII character or a slash is written as counts as found.
_ESCAPES = r"\\u00[0-7]|\\u017[fF]|\\u212[aA]|\\/"
_ANY_ESCAPE = r"\\u|\\/"
_DSN = r"://[^\t\n\f\r \"'`/:]*:"
_SPELLED_BREAK = r"\\[nrt]"
_WORD_BEGINS = re.compile(r"\\b(?=[A-Za-z0-9(\[])")
_WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^A-Za-z]+")
# Letters, digits, a few signs, classes and repetitions of them; no anchors, no ".", nothing negated, and no
# range of a class that holds a backslash, which JSON doubles: [A-z].
_CLASS = r"\[(?:[a-z]-[a-z]|[A-Z]-[A-Z]|[0-9]-[0-9]|[A-Za-z0-9_](?!-[^\]]))+-?\]"
_PLAIN_PATTERN = re.compile(rf"(?:[A-Za-z0-9_@#:,{{}}()|+*?-]|{_CLASS}|\\[dw.-])+")


class Redactor:
    """What is looked for; the same for every thread."""

    def __init__(
        self,
        extra_keys: Iterable[str] = (),
        extra_patterns: Sequence[str] = (),
        known: KnownValues | None = None,
    ) -> None:
        self.known = known if known is not None and known.values else None
        self.keys = frozenset(key for key in extra_keys if key)
        self.patterns = tuple(extra_patterns)
        self._listed = frozenset(map(_plain, self.keys))
        spelled = "|".join(sorted({form for key in self.keys for form in _spellings(key)}))
        is_ascii = all(key.isascii() for key in self.keys) and not extra_patterns
        forms = (*KINDS, *COMMANDS)
        hints = [STEMS, f"(?i){spelled}" if spelled else STEMS, _DSN, *(kind.hint for kind in forms)]
        hints += map(_hint_of, extra_patterns)
        speaks_ascii = is_ascii and (self.known is None or self.known.is_ascii)
        hints.append(_ESCAPES if speaks_ascii else _ANY_ESCAPE)
        self._known_place = len(hints)  # in that set, of what is known
        known_hints = [] if self.known is None else [self.known.hint]
        self._hints = PatternSet([*hints, *known_hints])
        # Ours are known to mean the same to both libraries; of an operator's nobody knows.
        known_hints = [] if self.known is None else self.known.hints_of_bytes
        self._scan = VectorScan([*hints, *known_hints]) if is_ascii else None
        listed = Mask(
            rf"(?i)((?:^|[^a-z0-9]|{_SPELLED_BREAK})(?:{spelled})\\*[\"']?\s*[:=]\s*)"
            r"(?:\\*\"[^\"]*\"?|\\*'[^']*'?|[^\s,;&}\])\"']+)"
        )
        masks = [
            Mask(_beginning_anywhere(kind.form), looks_made_up if kind.is_judged else None) for kind in forms
        ]
        masks += map(Mask, extra_patterns)
        # In the order of the hints; names and DSNs have scans of their own.
        self._masks: list[Mask | None] = [None, listed if spelled else None, None, *masks, None, None]
        self._stems = Places(STEMS)
        self._documents = DocumentCleaner(self._kind_of, self._clean_string, self._clean_number)

    @classmethod
    def of_all(cls, redactors: "Iterable[Redactor]") -> "Redactor":
        """What is clean for it is clean for each of them: one look instead of many. They know the same
        values."""
        every = tuple(redactors)
        keys = {key for one in every for key in one.keys}
        patterns = dict.fromkeys(pattern for one in every for pattern in one.patterns)
        known = next((one.known for one in every if one.known is not None), None)
        return cls(keys, tuple(patterns), known)

    def is_clean(self, text: bytes) -> bool:
        """Cheap (0.2 or 1.5 ns a byte), never wrong towards "yes"; over many texts and raw JSON at once."""
        if self._scan is not None and self._scan.finds_nothing(text):
            return True
        return not self._hints.found(text)

    def prepare(self) -> None:
        """What makes `is_clean` faster, once that is worth its price. On a thread that nobody waits for."""
        if self._scan is not None:
            self._scan.prepare()

    def body(self, raw: bytes | None) -> bytes | None:
        """Raw JSON as it is stored, in valid UTF-8."""
        if not raw:
            return None
        if self.is_clean(raw):
            return valid_utf8(raw)
        if len(raw) > _MAX_PARSED_BYTES:
            return MASKED_JSON
        try:
            return msgspec.json.encode(self._documents.clean(msgspec.json.decode(raw)))
        except Exception:  # noqa: BLE001 - not JSON, not UTF-8, nested too deep, a number out of range, ...
            # Nothing of it can be told apart from a secret.
            return MASKED_JSON

    def json(self, raw: bytes | None) -> str | None:
        body = self.body(raw)
        return None if body is None else body.decode()

    def text(self, text: str) -> str:
        return self._text(text, QuotedTexts(self._text))

    def _text(self, text: str, quoted: QuotedTexts) -> str:
        raw = text.encode(errors="surrogatepass")
        found = self._hints.found(raw)
        if not found:
            return text
        if self.known is not None and found[-1] == self._known_place:
            raw = self.known.without(raw)  # whole, before anything takes a part of one
            text = raw.decode(errors="surrogatepass")
        if "'" in text or '"' in text:
            raw = quoted.clean(text).encode(errors="surrogatepass")
        # Forms first: a private key goes on over lines, a value behind a name may end with its own.
        for place in found:
            mask = self._masks[place]
            if mask is not None:
                raw = mask.apply(raw)
        if found[0] == 0:
            raw = self._without_named(raw)
        return mask_passwords(raw.decode(errors="surrogatepass"))

    def _without_named(self, raw: bytes) -> bytes:
        text = raw.decode("latin-1")  # a character a byte, so that places are the same in both
        spans, alone = value_spans(text, self._stems.find(raw))
        if alone:
            spans += table_spans(text, alone)
            spans += insert_spans(text)
        return masked(text, spans, MASK).encode("latin-1") if spans else raw

    def _kind_of(self, name: str) -> NameKind | None:
        if self._listed and _plain(name) in self._listed:
            return NameKind.LISTED
        return kind_of(name)

    def _clean_string(self, text: str) -> str:
        if text.lstrip()[:1] not in ("{", "["):
            return self.text(text)
        raw = text.encode(errors="surrogatepass")
        if self.is_clean(raw):
            return text
        if self.known is not None and (told := self.known.without(raw)) is not raw:
            raw, text = told, told.decode(errors="surrogatepass")
        try:
            return msgspec.json.encode(self._documents.clean(msgspec.json.decode(raw))).decode()
        except (msgspec.ValidationError, RecursionError):
            return MASK  # it is JSON, only not for our parser (a huge number, deep nesting)
        except msgspec.DecodeError:
            return self.text(text)

    def _clean_number(self, number: int) -> int | str:
        if self.known is None:
            return number
        spelled = str(number)
        return number if self.known.without_text(spelled) == spelled else MASK


class MaskAll(Redactor):
    """For an event that cannot be recorded as it is: that it happened is kept, nothing of what it said."""

    def __init__(self) -> None:
        pass

    def body(self, raw: bytes | None) -> bytes | None:
        return MASKED_JSON if raw else None

    def text(self, text: str) -> str:
        return MASK


def valid_utf8(raw: bytes) -> bytes:
    """Itself, unless it is something else."""
    if raw.isascii():
        return raw
    try:
        raw.decode()
    except UnicodeDecodeError:
        return raw.decode(errors="replace").encode()
    return raw


def _beginning_anywhere(form: str) -> str:
    """A word may begin behind a line break that is spelled: `\\nAKIA…`, as in JSON that was cut."""
    return _WORD_BEGINS.sub(lambda _: rf"(?:\b|{_SPELLED_BREAK})", form)


def _hint_of(pattern: str) -> str:
    """A pattern of the operator's as it would be found in raw JSON: itself when it speaks only of characters
    that JSON leaves alone, else anywhere, which makes every text worth a closer look."""
    return pattern if _PLAIN_PATTERN.fullmatch(pattern) else "(?s)."


def _plain(key: str) -> str:
    """The same for every spelling of a key: case, `_`, `-`, `.`, spaces and camel case make no difference."""
    return re.sub(r"[ _.-]", "", key).lower() or key


def _spellings(key: str) -> tuple[str, ...]:
    """As patterns: with anything between its words, and as JSON writes it."""
    words = [word for word in re.split(r"[ _.-]", "_".join(_WORDS.findall(key))) if word]
    return ("[ _.-]*".join(map(literal, words)), literal(json.dumps(key, ensure_ascii=False)[1:-1]))
