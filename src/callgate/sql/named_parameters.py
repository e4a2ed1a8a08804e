"""SQL with `:name` where a value goes, taken apart by the dialect's own lexer. Pure.

A value never becomes part of the text: `with_placeholders` gives what the driver binds to, `with_samples` a
text that the guard can judge, in which a literal stands where a value will. Wherever a placeholder is legal
the engine takes an expression, so a text that is harmless with the worst literal is harmless with any value.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from callgate.sql.guard.dialect import Dialect
from callgate.sql.guard.tokens import Token, TokenKind, significant

_NAMED = re.compile(r":([A-Za-z_][A-Za-z0-9_]*)")
_BORDERS = ("", *" \t\n\r(),;")
_OPAQUE = frozenset({TokenKind.SPACE, TokenKind.COMMENT, TokenKind.STRING, TokenKind.QUOTED, TokenKind.BLOB})


@dataclass(frozen=True, slots=True)
class Template:
    """One statement."""

    parts: tuple[str, ...]  # the text around the parameters, one more than there are names
    names: tuple[str, ...]  # in the order of the text; a name may come twice

    def with_placeholders(self, placeholder: Callable[[int], str]) -> str:
        """`placeholder`: the driver's form of the n-th one, from 1."""
        return self._filled([placeholder(number) for number in range(1, len(self.names) + 1)])

    def with_samples(self, literals: Mapping[str, str]) -> str:
        return self._filled([literals[name] for name in self.names])

    def _filled(self, fillings: list[str]) -> str:
        text = self.parts[0]
        for filling, part in zip(fillings, self.parts[1:], strict=True):
            # Never one token with its neighbours: `a:b` must not become `a1` here and `a$1` there.
            before = "" if text[-1:] in _BORDERS else " "
            behind = "" if part[:1] in _BORDERS else " "
            text += f"{before}{filling}{behind}{part}"
        return text


def read_templates(sql: str, dialect: Dialect) -> tuple[Template, ...]:
    """One for each statement, split where the guard splits."""
    tokens = dialect.lex(sql)
    drafts: list[list[Token]] = [[]]
    for token in tokens:
        if token.is_operator(";"):
            drafts.append([])
        else:
            drafts[-1].append(token)
    return tuple(_template(draft) for draft in drafts if significant(draft))


def _template(tokens: list[Token]) -> Template:
    first, last = (significant(tokens)[at] for at in (0, -1))
    parts, names = [""], list[str]()
    at = tokens.index(first)
    while at < len(tokens) and tokens[at].start <= last.start:
        name, width = _parameter_at(tokens, at)
        if name is None:
            parts[-1] += tokens[at].text
        else:
            names.append(name)
            parts.append("")
        at += width
    return Template(tuple(parts), tuple(names))


def _parameter_at(tokens: list[Token], at: int) -> tuple[str | None, int]:
    """The parameter that begins here, and its width in tokens: some lexers give `:` and the name apart."""
    token = tokens[at]
    if token.kind in _OPAQUE:
        return None, 1
    if match := _NAMED.fullmatch(token.text):
        return match[1], 1
    if token.text == ":" and at + 1 < len(tokens) and tokens[at + 1].kind is TokenKind.WORD:
        follower = tokens[at + 1]
        is_slice = at > 0 and tokens[at - 1].end == token.start and tokens[at - 1].text.endswith(":")
        if follower.start == token.end and not is_slice and _NAMED.fullmatch(f":{follower.text}"):
            return follower.text, 2
    return None, 1
