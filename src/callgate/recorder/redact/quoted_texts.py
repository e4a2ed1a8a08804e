r"""Texts inside a literal that holds quotes: `'PRAGMA key = ''x'''`, or `\'x\'`, or `""x""` of a CSV cell.

The forms and names that redaction looks for hold quotes of their own. Inside a literal these are doubled or
escaped, so the literal's text is redacted as it was before somebody quoted it, and quoted again.
"""

import re
from collections.abc import Callable

from callgate.recorder.redact.dsn import MASK

# Of each way to write a quote inside a literal: the literal, to its end or to the end of a text that was cut.
_LITERALS = {
    f"{before}{quote}": re.compile(pattern)
    for quote in "'\""
    for before, pattern in (
        (quote, f"{quote}(?:[^{quote}]+|{quote}{quote})*({quote}|$)"),
        ("\\", rf"{quote}(?:[^{quote}\\]+|\\[\s\S])*({quote}|\\?$)"),
    )
}
_ESCAPED = re.compile(r"\\([\\'\"])")
# A literal in a statement that stands in a literal itself.
_MAX_DEPTH = 2
# Of one text. Each costs some 20 µs, so a text made of literals would cost seconds.
_MAX_LITERALS = 2_000


class QuotedTexts:
    """The literals of one text. `redact` is called with the text inside of one, and with this object."""

    def __init__(self, redact: "Callable[[str, QuotedTexts], str]") -> None:
        self._redact = redact
        self._depth = 0
        self._left = _MAX_LITERALS

    def clean(self, text: str) -> str:
        """A literal in which nothing is found stays as it is; of too many the rest is masked."""
        if self._depth == _MAX_DEPTH:
            return text
        self._depth += 1
        for written, literal in _LITERALS.items():
            if written not in text:
                continue

            def cleaned(found: re.Match[str], written: str = written) -> str:
                return self._cleaned(found[0], found[1], written)

            is_odd = text.count(written[1]) % 2
            text = literal.sub(cleaned, text)
            if is_odd:  # an apostrophe in a sentence is no literal's beginning: once more from behind it
                behind = text.find(written[1]) + 1
                text = text[:behind] + literal.sub(cleaned, text[behind:])
        self._depth -= 1
        return text

    def _cleaned(self, literal: str, end: str, written: str) -> str:
        quote = written[1]
        inside = literal[1 : len(literal) - len(end)]
        if written not in inside:
            return literal  # nothing in it is written otherwise than it was
        self._left -= 1
        if self._left < 0:
            return f"{quote}{MASK}{end}"
        is_escaped = written[0] == "\\"
        plain = inside.replace(written, quote) if not is_escaped else _ESCAPED.sub(r"\1", inside)
        redacted = self._redact(plain, self)
        if redacted == plain:
            return literal
        if is_escaped:
            redacted = redacted.replace("\\", "\\\\")
        return quote + redacted.replace(quote, written) + end
