"""Which settings may be shown: all but those that hold secrets or say where files and machines are. Pure.

One by one, by `SHOW name`, by `current_setting('name')`, and in pg_settings by a WHERE that names them, and not
with the column that says in which file a setting stands. What shows all of them at once (SHOW ALL) would show
these too, and is refused.
"""

import re

from callgate.sql.engines.postgres.dialect.reading import NAMES, word_at
from callgate.sql.guard.dialect import Fault, Tokens
from callgate.sql.guard.tokens import TokenKind

_SECRET = re.compile(
    r"conninfo|passphrase|password|passwd|secret|token|credential|private|api_?key|jwt|keyfile"
    r"|_command$|_file$|_director(y|ies)$"
)
# password_encryption says how, not what.
_HARMLESS = frozenset({"password_encryption"})
# Families without a secret. A name with a dot is an extension's, and not among them.
_FAMILIES = re.compile(
    r"'(autovacuum|bgwriter|checkpoint|cpu_|deadlock|default_|effective_|enable_|geqo|hash_mem|idle_|jit"
    r"|join_collapse|lock_timeout|logical_decoding|maintenance|max_|min_|parallel|random_page|seq_page"
    r"|server_version|shared_|statement_timeout|synchronous_commit|temp_|track_|transaction|vacuum|wal_level"
    r"|work_mem)[a-z_]*%'"
)
_WRITTEN_NAME = re.compile(r"'[A-Za-z0-9_.]+'")
_ENDS_WHERE = frozenset(
    {"", ")", "order", "group", "limit", "offset", "fetch", "union", "intersect", "except"}
)
_BEFORE_STAR = frozenset({"select", "distinct", "all", ",", ".", "("})
_HINT = "Settings that hold no secrets can be shown, e.g. SHOW server_version."


def is_secret(name: str) -> bool:
    lowered = name.lower()
    return lowered not in _HARMLESS and _SECRET.search(lowered) is not None


def setting_fault(tokens: Tokens, at: int) -> Fault | None:
    """For the name that is given to current_setting(), which begins at `at`."""
    is_written_out = (
        at + 1 < len(tokens) and tokens[at].kind is TokenKind.STRING and tokens[at + 1].text in (")", ",")
    )
    return secret_fault(tokens[at].name) if is_written_out else _unclear()


def secret_fault(name: str) -> Fault | None:
    if not is_secret(name):
        return None
    return Fault(
        "secret_setting",
        f"the setting {name[:60]} may hold a secret, or tells where the server's files are.",
        _HINT,
        is_forbidden=True,
    )


def settings_view_fault(tokens: Tokens, at: int) -> Fault | None:
    """For the name pg_settings at `at`: `FROM pg_settings s WHERE s.name IN ('work_mem', 'jit')`, no more."""
    before = at - 3 if word_at(tokens, at - 1) == "." and word_at(tokens, at - 2) == "pg_catalog" else at - 1
    after, alias, alias_at = at + 1, "pg_settings", at
    after += word_at(tokens, after) == "as"
    if word_at(tokens, after) != "where" and after < len(tokens) and tokens[after].kind in NAMES:
        alias, alias_at = tokens[after].name, after
        after += 1
    if word_at(tokens, before) != "from" or word_at(tokens, after) != "where":
        return _unnamed()
    after += 1
    if word_at(tokens, after + 1) == ".":
        if tokens[after].kind not in NAMES or tokens[after].name != alias:
            return _unnamed()
        after += 2
    if word_at(tokens, after) != "name":
        return _unnamed()
    behind, names = _compared(tokens, after + 1)
    follows = word_at(tokens, behind) if behind < len(tokens) else ""
    is_alone = behind >= len(tokens) or (follows in _ENDS_WHERE and follows != "")
    has_more = follows == "and" and not any(token.word == "OR" for token in tokens)
    if not names or not (is_alone or has_more):
        return _unnamed()
    if any(
        _shows_source(tokens, place, alias) for place in _query_around(tokens, at) if place not in (at, alias_at)
    ):
        return Fault(
            "secret_setting",
            "pg_settings.sourcefile tells where the server's files are, and * shows it too.",
            "Name the columns: SELECT name, setting, unit, source FROM pg_settings WHERE name = 'work_mem'",
            is_forbidden=True,
        )
    return next((fault for name in names if (fault := secret_fault(name)) is not None), None)


def _query_around(tokens: Tokens, at: int) -> range:
    """The parentheses that it stands in, or the whole statement: nowhere else can its columns be named."""
    begin, depth = at, 0
    while begin > 0 and depth >= 0:
        begin -= 1
        depth += {")": 1, "(": -1}.get(word_at(tokens, begin), 0)
    end, depth = at, 0
    while end < len(tokens) and depth >= 0:
        depth += {"(": 1, ")": -1}.get(word_at(tokens, end), 0)
        end += 1
    return range(begin, end)


def _shows_source(tokens: Tokens, at: int, alias: str) -> bool:
    """`sourcefile`, `*`, `s.*`, and `s` itself, which is the whole row; not `count(*)`, `a * 2` and `s.name`."""
    token = tokens[at]
    before, behind = word_at(tokens, at - 1), word_at(tokens, at + 1)
    if token.is_operator("*"):
        is_count = before == "(" and behind == ")"
        ends_item = at + 1 == len(tokens) or behind in ("from", ",", ")")
        is_all = before in _BEFORE_STAR or (before == ")" and ends_item)
        return is_all and not is_count
    if token.kind not in NAMES:
        return False
    return token.name == "sourcefile" or (token.name == alias and behind != ".")


def _compared(tokens: Tokens, at: int) -> tuple[int, list[str]]:
    """Where the comparison ends, and the names it is with; none, when it is not with names written out."""
    texts = [token.text if token.kind is TokenKind.STRING else "" for token in tokens[at + 1 : at + 2]]
    match word_at(tokens, at):
        case "=" if texts and _WRITTEN_NAME.fullmatch(texts[0]):
            return at + 2, [tokens[at + 1].name]
        case "like" | "ilike" if texts and _FAMILIES.fullmatch(texts[0]):
            return at + 2, [texts[0].strip("'%")]
        case "in" if word_at(tokens, at + 1) == "(":
            names: list[str] = []
            at += 2
            while at < len(tokens) and tokens[at].kind is TokenKind.STRING:
                if not _WRITTEN_NAME.fullmatch(tokens[at].text):
                    return at, []
                names.append(tokens[at].name)
                at += 1
                if word_at(tokens, at) == ")":
                    return at + 1, names
                at += 1 if word_at(tokens, at) == "," else len(tokens)
            return at, []
        case _:
            return at, []


def _unnamed() -> Fault:
    return Fault(
        "secret_setting",
        "pg_settings shows settings that may hold secrets too, unless they are named.",
        "SELECT name, setting FROM pg_settings WHERE name IN ('work_mem', 'jit'), or SHOW work_mem",
        is_forbidden=True,
    )


def all_settings_fault() -> Fault:
    reason = "SHOW ALL shows settings that may hold secrets too."
    return Fault("secret_setting", reason, _HINT, is_forbidden=True)


def _unclear() -> Fault:
    return Fault(
        "setting_name", "the name of a setting must be written out in quotes.", "current_setting('TimeZone')"
    )
