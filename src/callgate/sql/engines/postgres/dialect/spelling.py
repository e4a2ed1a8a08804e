"""A statement in the one spelling that sqlglot and PostgreSQL read alike. For analysis only, never run. Pure.

sqlglot need not know what a literal says, which type a cast aims at or which operator joins two operands: all
that is judged on our own tokens. What is left for it is the shape, the tables and the statements inside.
"""

import re

from callgate.sql.engines.postgres.dialect import operators
from callgate.sql.engines.postgres.dialect.keyword_places import operator_behind
from callgate.sql.engines.postgres.dialect.keywords import RESERVED, VALUE_WORDS
from callgate.sql.engines.postgres.dialect.reading import word_at
from callgate.sql.engines.postgres.dialect.type_names import behind_fields, read_type
from callgate.sql.guard.dialect import Tokens
from callgate.sql.guard.tokens import Token, TokenKind
from callgate.sql.guard.verbs import skip_group, skip_recursion

_PLAIN_TEXT = re.compile(r"'[^'\\]*'")
_PLAIN_NUMBER = re.compile(r"[0-9]*\.?[0-9]+")
# Words of the special syntax of some functions that sqlglot does not know: what to write in their place.
_SYNTAX: dict[str, dict[str, str]] = {
    "substring": {"similar": ",", "escape": ","},
    "xmlparse": dict.fromkeys(("document", "content", "preserve", "strip", "whitespace"), ""),
    "xmlserialize": dict.fromkeys(("document", "content", "no", "indent"), ""),
    "xmlpi": {"name": ""},
    "json_query": {
        **dict.fromkeys(("with", "without", "conditional", "unconditional", "wrapper"), ""),
        **dict.fromkeys(("keep", "omit", "quotes"), ""),
        "passing": "||",
    },
    "json_value": {"passing": "||"},
    "json_exists": {"passing": "||"},
    "xmlroot": {"version": "", "standalone": "", "yes": "1", "no": "1", "value": ""},
    "xmlexists": {"passing": ",", "by": "", "ref": "", "value": ""},
}
_PHRASES: dict[tuple[str, ...], str] = {
    ("for", "ordinality"): "int",
    ("collation", "for"): "lower",
    ("overriding", "system", "value"): "",
    ("overriding", "user", "value"): "",
    ("for", "read", "only"): "",
    ("array", "wrapper"): "",
    ("on", "scalar", "string"): "",
    ("at", "local"): "AT TIME ZONE 'x'",
}
# `JSON_VALUE(x, '$.a' PASSING 1 AS n)`: the name is one of the path's.
_NAME_WHAT_IS_PASSED = frozenset({"json_value", "json_query", "json_exists", "json_table"})
_ENDS_OPERAND = (TokenKind.QUOTED, TokenKind.STRING, TokenKind.NUMBER, TokenKind.BLOB, TokenKind.VARIABLE)
_OF_WRAPPER = frozenset(
    {"with", "without", "conditional", "unconditional", "wrapper", "keep", "omit", "quotes"}
)
_EXISTS_PATH = ("exists", "path")
_OUTCOMES = frozenset({"null", "absent", "error", "true", "false", "unknown"})
_CASES = frozenset({"null", "empty", "error"})
_PLAIN_VALUES = (TokenKind.STRING, TokenKind.NUMBER)
_QUANTIFIERS = frozenset({"any", "all", "some"})


class _Speller:
    def __init__(self, tokens: Tokens) -> None:
        self.tokens = tokens
        self.pieces: list[str] = []
        self.openers: list[str] = []  # the words before the parentheses that are open
        self.values_end = -1  # behind the rows of a VALUES that is spelled as a SELECT
        self.has_xml_columns = any(token.word in ("XMLTABLE", "JSON_TABLE") for token in tokens)

    def spell(self) -> str:
        at = 0
        while at < len(self.tokens):
            behind = self._take(self.tokens[at], at)
            if self.values_end in range(at + 1, behind + 1):
                self.pieces.append(") AS v")
            at = behind
        return " ".join(self.pieces)

    def _take(self, token: Token, at: int) -> int:
        """Spell what begins at `at` and say where it ends."""
        match token.kind:
            case TokenKind.OPERATOR:
                return self._operator(token.text, at)
            case TokenKind.WORD if word_at(self.tokens, at - 1) == ".":
                # Behind a dot no word is a keyword; before a parenthesis it is a function.
                is_call = word_at(self.tokens, at + 1) == "("
                self.pieces.append(token.name if is_call else _quoted(token.name))
                return at + 1
            case TokenKind.WORD:
                return self._word(token.name, at)
            case TokenKind.QUOTED:
                behind = self._typed_literal(at)
                if behind is not None:
                    return behind
                self.pieces.append(_quoted(token.name))
            case TokenKind.STRING:
                self.pieces.append(self._text(token.text))
            case TokenKind.NUMBER:
                self.pieces.append(token.text if _PLAIN_NUMBER.fullmatch(token.text) else "1")
            case _:
                self.pieces.append("1")
        return at + 1

    def _text(self, text: str) -> str:
        if self.openers and self.openers[-1] == "generate_series":
            return "'1 day'"  # sqlglot takes the step apart, and knows few spellings of an interval
        return text if _PLAIN_TEXT.fullmatch(text) else "'x'"

    def _operator(self, text: str, at: int) -> int:
        if text == "::":
            found = read_type(self.tokens, at + 1)
            self.pieces.append(":: text" if found else "::")
            return found.end if found else at + 1
        if text == "(":
            self.openers.append(word_at(self.tokens, at - 1))
        elif text == ")" and self.openers:
            self.openers.pop()
        if text == "%":
            text = "*"  # behind LIMIT sqlglot takes it for a percentage; both bind alike
        is_plain = text in operators.SIGNS or text in operators.OF_THE_PARSER
        self.pieces.append(text if is_plain else self._plain_operator(at, at + 1))
        return at + 1

    def _plain_operator(self, at: int, behind: int) -> str:
        """What sqlglot reads in the operator's place: `||` between two operands, `-` before one."""
        if at and self._ends_operand(at - 1):
            return "=" if word_at(self.tokens, behind) in _QUANTIFIERS else "||"
        return "-"

    def _ends_operand(self, at: int) -> bool:
        token = self.tokens[at]
        if token.kind is TokenKind.WORD:
            return (
                token.name not in RESERVED or token.name in VALUE_WORDS or word_at(self.tokens, at - 1) == "."
            )
        return token.kind in _ENDS_OPERAND or token.text in (")", "]")

    def _word(self, word: str, at: int) -> int:
        opener = self.openers[-1] if self.openers else ""
        following = word_at(self.tokens, at + 1)
        if (behind := self._behind_json_clause(word, opener, at)) > at:
            return behind
        match word:
            case "as":
                return self._alias(opener, at)
            case "table":
                self.pieces.append("SELECT * FROM")
            case "values" if word_at(self.tokens, at - 1) == "(" and self._is_sorted_values(at):
                self.pieces.append("SELECT * FROM ( VALUES")
            case "returning" if opener.startswith("json_"):
                found = read_type(self.tokens, at + 1)
                return found.end if found else at + 1
            case "returning" if following == "with":
                self.pieces.append("RETURNING")  # WITH (OLD AS a, NEW AS b): other names for two rows
                return skip_group(self.tokens, at + 2)
            case "operator" if following == "(" and operator_behind(self.tokens, at) is not None:
                behind = at + (6 if word_at(self.tokens, at + 3) == "." else 4)
                self.pieces.append(self._plain_operator(at, behind))
                return behind
            case "using" if following == "operator" or following in operators.ALLOWED:
                self.pieces.append("ASC")
                return at + 2 if following != "operator" else self._behind_group(at + 2)
            case "passing" if opener == "json_table":
                return self._behind_passed(at)
            case "search" | "cycle" if (
                word_at(self.tokens, at - 1) == ")" and skip_recursion(self.tokens, at) > at
            ):
                return skip_recursion(self.tokens, at)
            case _ if word in _SYNTAX.get(opener, {}):
                self.pieces.append(_SYNTAX[opener][word])
            case _:
                behind = self._phrase(word, following, at) or self._typed_literal(at)
                if behind is not None:
                    return behind
                self.pieces.append(self.tokens[at].text)
        return at + 1

    def _phrase(self, word: str, following: str, at: int) -> int | None:
        """Words that belong together and that sqlglot does not know."""
        for phrase, spelled in _PHRASES.items():
            if phrase[:2] == (word, following) and all(
                word_at(self.tokens, at + step) == expected for step, expected in enumerate(phrase)
            ):
                self.pieces.append(spelled)
                return at + len(phrase)
        if (word, following) == ("only", "("):
            return at + 1
        if following == "(" and self._is_plain_call(word, at):
            self.pieces.append("concat")
            return at + 1
        return None

    def _is_plain_call(self, word: str, at: int) -> bool:
        """Functions that sqlglot takes for special syntax of the same name."""
        if word == "json_object":  # JSON_OBJECT('a': 1) is such syntax
            inside = {word_at(self.tokens, inner) for inner in range(at, skip_group(self.tokens, at + 1))}
            return inside.isdisjoint({":", "value"})
        return word == "convert" or (word == "overlaps" and word_at(self.tokens, at - 1) != ")")

    def _is_sorted_values(self, at: int) -> bool:
        """`(VALUES (2), (1) ORDER BY 1)`: sqlglot sorts only what is selected."""
        end = skip_group(self.tokens, at + 1)
        while word_at(self.tokens, end) == "," and word_at(self.tokens, end + 1) == "(":
            end = skip_group(self.tokens, end + 1)
        if word_at(self.tokens, end) not in ("order", "limit", "offset", "fetch"):
            return False
        self.values_end = end
        return True

    def _typed_literal(self, at: int) -> int | None:
        """`interval '1' day`, `timestamp(3) with time zone '…'`: sqlglot gets the text alone."""
        if self.tokens[at].name == "path" and self.has_xml_columns:
            return None
        found = read_type(self.tokens, at)
        if found is None or not found.is_known or found.end >= len(self.tokens):
            return None
        if self.tokens[found.end].kind is not TokenKind.STRING:
            return None
        self.pieces.append("'x'")
        is_interval = found.name in ("interval", "pg_catalog.interval")
        return behind_fields(self.tokens, found.end + 1) if is_interval else found.end + 1

    def _alias(self, opener: str, at: int) -> int:
        following = self.tokens[at + 1] if at + 1 < len(self.tokens) else None
        if opener in ("cast", "xmlserialize"):
            found = read_type(self.tokens, at + 1)
            self.pieces.append("AS text" if opener == "cast" else "")
            return found.end if found else at + 1
        if opener in _NAME_WHAT_IS_PASSED or self._is_alias_of_join(at) or self._is_name_of_path(opener, at):
            return at + 2
        self.pieces.append("AS")
        is_body = word_at(self.tokens, at + 1) in ("materialized", "not")
        if following is not None and following.kind is TokenKind.WORD and not is_body:
            self.pieces.append(_quoted(following.name))
            return at + 2
        return at + 1

    def _is_name_of_path(self, opener: str, at: int) -> bool:
        """`NESTED PATH '$.b[*]' AS b COLUMNS (…)` in a JSON_TABLE."""
        is_path = opener == "columns" and self.tokens[at - 1].kind is TokenKind.STRING
        return is_path and word_at(self.tokens, at + 2) == "columns"

    def _is_alias_of_join(self, at: int) -> bool:
        """`JOIN t USING (id) AS j`."""
        if word_at(self.tokens, at - 1) != ")":
            return False
        depth = 0
        for earlier in range(at - 1, -1, -1):
            depth += {")": 1, "(": -1}.get(word_at(self.tokens, earlier), 0)
            if depth == 0:
                return word_at(self.tokens, earlier - 1) == "using"
        return False

    def _behind_passed(self, at: int) -> int:
        """`PASSING 1 AS x COLUMNS (…)`: plain values are left out, as sqlglot does not know the clause."""
        behind = at
        while word_at(self.tokens, behind) not in ("columns", "(", ")", ""):
            behind += 1
        return behind if word_at(self.tokens, behind) == "columns" else at + 1

    def _behind_json_clause(self, word: str, opener: str, at: int) -> int:
        """`NULL ON NULL`, `DEFAULT 0 ON EMPTY`, `EMPTY ARRAY ON ERROR`: a value that is left out is plain."""
        of_columns = self.has_xml_columns and opener == "columns"
        if not of_columns and not opener.startswith("json_"):
            return at
        behind = at + 1
        if word == "default":
            behind += word_at(self.tokens, behind) == "-"
            behind += behind < len(self.tokens) and self.tokens[behind].kind in _PLAIN_VALUES
        elif word == "empty":
            behind += word_at(self.tokens, behind) in ("array", "object")
        elif of_columns and (word in _OF_WRAPPER or (word, word_at(self.tokens, behind)) == _EXISTS_PATH):
            return behind
        elif word not in _OUTCOMES:
            return at
        ends = word_at(self.tokens, behind) == "on" and word_at(self.tokens, behind + 1) in _CASES
        return behind + 2 if ends else at

    def _behind_group(self, at: int) -> int:
        while at < len(self.tokens) and word_at(self.tokens, at) != ")":
            at += 1
        return at + 1


def canonical(tokens: Tokens, verb: Token) -> str:
    return _Speller(tokens).spell()


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
