"""The lines of a `callgate.toml` without its secrets, for showing what changes. Pure.

As many lines as the text has, so that a line stands for the same line of the text.
"""

import re
from collections.abc import Iterator
from difflib import SequenceMatcher

from callgate.config.editing.toml_scan import Entry, Scan
from callgate.config.editing.written_values import written
from callgate.config.secret import MASK, is_secret_name, mask_args, mask_url
from callgate.config.sources.interpolate import bears_secret
from callgate.config.specs.dsn import mask_dsn

_REFERENCE = re.compile(
    r"""["'](?:(?:file|secret|exec):.*|\$\{[A-Za-z_]\w*\}|(?i:bearer|basic) \$\{\w+\})["']"""
)
_DSN_KEYS = ("dsn", "store", "database")
_HARMLESS = frozenset({"redact_keys", "token_hash", "tokens", "max_tokens", "state_key_file"})


def masked_lines(text: str) -> list[str]:
    scan = Scan.of(text)
    shown, end = "", 0
    for entry in scan.entries:
        if entry.value_start < end:
            continue  # a part of what is masked already
        value = text[entry.value_start : entry.end]
        masked = _masked(scan, entry, value)
        if masked != value:
            shown += text[end : entry.value_start] + masked + "\n" * value.count("\n")
            end = entry.end
    return (shown + text[end:]).splitlines()


def changed_lines(before: str, after: str) -> list[str]:
    """What goes (`-`) and what comes (`+`), in their order, masked."""
    old, new = before.splitlines(), after.splitlines()
    old_shown, new_shown = masked_lines(before), masked_lines(after)
    return list(_changes(old, new, old_shown, new_shown))


def _changes(old: list[str], new: list[str], old_shown: list[str], new_shown: list[str]) -> Iterator[str]:
    for kind, start, end, new_start, new_end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind != "equal":
            yield from (f"-{line}" for line in old_shown[start:end])
            yield from (f"+{line}" for line in new_shown[new_start:new_end])


def _masked(scan: Scan, entry: Entry, value: str) -> str:
    key = next((part for part in reversed(entry.loc) if isinstance(part, str)), "")
    if _REFERENCE.fullmatch(value) or not _is_text(value):
        is_list = value.startswith("[") and key == "args"
        return _masked_args(scan, entry, value) if is_list else value
    plain = value[1:-1]
    if entry.loc[-1] in _DSN_KEYS:
        return written(mask_dsn(plain))
    if entry.loc[-1] == "url":
        return written(mask_url(plain))
    is_named = isinstance(entry.loc[-1], str) and is_secret_name(key) and key not in _HARMLESS
    return written(MASK) if bears_secret(entry.loc) or is_named else value


def _masked_args(scan: Scan, entry: Entry, value: str) -> str:
    items = [one for one in scan.entries if one.inside == entry.loc]
    plain = [scan.text[one.start + 1 : one.end - 1] for one in items]
    masked = mask_args(plain)
    if masked == plain:
        return value
    return f"[{', '.join(written(one) for one in masked)}]"


def _is_text(value: str) -> bool:
    return value[:1] in "\"'"
