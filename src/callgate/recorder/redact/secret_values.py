"""Whether what stands under a secret's name is one: `password: required` and `password = ?` hold none.

Everything that is not known to be honest is a secret.
"""

import re
from collections.abc import Callable

from callgate.recorder.redact.secret_names import NameKind, kind_of, word_set

_HONEST = word_set(
    """
    true false yes no null none nil undefined nan unset empty blank unknown n/a tbd required
    optional missing invalid valid expired incorrect wrong ok changed enabled disabled hidden
    redacted masked removed filtered omitted set string str text varchar char bytes byte int integer
    number bool boolean object array list dict any type nvarchar blob secretstr include same-origin
    omit default always never password bearer oauth oauth2 not is was has all new this
    erforderlich ungültig abgelaufen falsch obligatoria requerida incorrecta requis obligatoire
    invalide
    """
)
_PROSE = word_set(
    """
    a an the is are was were must should may can cannot can't could will would see not too required
    missing invalid expired please your enter how what when where why who which never use used using
    has have had this that these those for in of on at to and or it its it's no any with without
    expected unexpected got near one each every
    from by if then than be been as only i you he she we they my his her our their there here
    everyone nobody minimum maximum min max contains option flag argument parameter field names
    """
)
_HIDDEN = re.compile(
    # Bullets and dots of Unicode too, and their bytes, for texts are looked at a byte at a time.
    r"[*\u2022x.#_\u2026\xe2\x80\xa2\xa6-]{3,}|\*+"
    r"|[\[<({].*(?:redacted|masked|hidden|removed|filtered).*[\])>}]",
    re.IGNORECASE,
)
_PLACEHOLDER = re.compile(
    r"\?\d*|\$\d+|\$\{.*|\$\(.*|\$[A-Z_][A-Z0-9_]*|%s|%\(\w+\)s|%[A-Za-z_]\w*%|\{\{.*|<%.*|<[^<>]*>"
    r"|\{\w*\}|!\w+.*"
    r"|[:@$]\w{1,2}\d*"
)
_NAMED_PLACEHOLDER = re.compile(r"[:@$]([A-Za-z_]\w*)")
_TYPE = re.compile(
    r"(?:str|string|text|bytes|char|varchar|nvarchar|int|number|bool(?:ean)?|any|optional|secretstr)"
    r"[!?\[\](){}|<>,;: a-z0-9=.]*",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,5}|\d+\.\d+")
_COUNT = re.compile(r"[\d.,_]+[kKmM%]?|\d{1,9} [a-z]{1,20}(?:[,;/]? \d{1,9} [a-z]{1,20}){0,9}")
_FOLDER = re.compile(r"(?:/[\w.@~ +-]*)+|~[\w/.@ +-]*|[A-Za-z]:\\.*")
_MADE_UP = re.compile(r"[0-9]|[a-z][A-Z]|[^\w\s,.:;!?'\"()<>|-]")
_AMOUNT = re.compile(r"\d{1,4} [a-z]+\b(?!.*\d)")
_MAX_WORD_CHARS = 24
_LOCATION = re.compile(r"(?:[a-z]+://|/|\./|~/)\S*", re.ASCII)
_WITH_PASSWORD = re.compile(r"[^\s:/@]*:[^\s@/][^\s@]*@[\w.(\[-].*", re.ASCII)
_PHRASE = re.compile(r"[a-z]+(?:[ ,]+[a-z]+){11,24}", re.ASCII)
_LIKE_A_PASSWORD = re.compile(r"(?=\S*[A-Za-z])(?=\S*[0-9])\S{6,200}", re.ASCII)
_LABEL = re.compile(r"[A-Za-z]+\d|[a-z0-9]+(?:[-_./:][a-z0-9]+)+|[\d.,]+[A-Za-z%]{1,2}", re.ASCII)
_MIN_AUTH_CHARS = 12
_SHORT_WORD = re.compile(r"[a-z]{1,3}", re.ASCII)  # of a text that was cut into tokens


def is_secret_value(kind: NameKind, value: str, name: str = "") -> bool:
    value = value.strip()
    if not value or kind is NameKind.LISTED:
        return bool(value)
    judged = _JUDGES.get(kind)
    if judged is not None:
        return judged(value)
    lowered = value.lower().rstrip(".,;!")
    if (
        lowered in _HONEST
        or lowered == name.lower()
        or _HIDDEN.fullmatch(value)
        or _PLACEHOLDER.fullmatch(value)
    ):
        return False
    if kind in (NameKind.TOKEN, NameKind.TOKENS) and (
        (_COUNT if kind is NameKind.TOKENS else _NUMBER).fullmatch(value) or _SHORT_WORD.fullmatch(value)
    ):
        return False
    named = _NAMED_PLACEHOLDER.fullmatch(value)
    if named is not None and kind_of(named[1]) is not None:
        return False
    if name.lower() in ("pwd", "oldpwd") and _FOLDER.fullmatch(value):
        return False
    return not _is_prose(lowered) and _TYPE.fullmatch(value) is None


def looks_made_up(value: str) -> bool:
    """No word of a language: digits, capitals inside, signs, or very long."""
    value = value.strip(".,:;=")
    return _MADE_UP.search(value) is not None or len(value) > _MAX_WORD_CHARS


def _is_like_a_password(value: str) -> bool:
    """Letters and digits that are no `step-2` and no `10ms`."""
    return _LIKE_A_PASSWORD.fullmatch(value) is not None and _LABEL.fullmatch(value) is None


def _is_long_and_made_up(value: str) -> bool:
    """A word of it: behind a scheme, or by itself."""
    return any(
        len(word) >= _MIN_AUTH_CHARS and looks_made_up(word) and _LOCATION.fullmatch(word) is None
        for word in value.split()
    )


_JUDGES: dict[NameKind, Callable[[str], bool]] = {
    NameKind.COOKIE: lambda value: "=" in value or _is_like_a_password(value),
    NameKind.AUTH: _is_long_and_made_up,
    NameKind.LONE_PASS: _is_like_a_password,
    NameKind.DSN: lambda value: _WITH_PASSWORD.fullmatch(value) is not None,
    NameKind.PHRASE: lambda value: _PHRASE.fullmatch(value.lower()) is not None,
}


def _is_prose(lowered: str) -> bool:
    first, space, rest = lowered.partition(" ")
    return bool(space and rest) and (first.strip(",:;'\"") in _PROSE or _AMOUNT.match(lowered) is not None)
