"""Text of strangers, made safe for a terminal. Pure.

A tool's result, a server's name, a line of its stderr: any of them may hold characters that a terminal acts
on (move the cursor, set the title, answer as if typed), or that show text in another order than it has.
Everything that we write to a terminal goes through here; `cli.terminal` puts it before stdout and stderr.
"""

import re

# A carriage return at the end of a line only does what the line feed does next. Left as they are: what some
# scripts need (the joiners U+200C and U+200D, soft hyphen, number signs): it acts on its neighbours only.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f"  # C0 without line feed and tab, delete, C1
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # the direction of writing
    "\u180e\u200b\u2028\u2029\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb\U000e0000-\U000e007f"  # not seen
    "\ud800-\udfff]"  # halves of a pair, which cannot be encoded
    "|\r(?!\n)"
)
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def safe_for_terminal(text: str) -> str:
    """Each such character as JSON writes it, `\\u001b`. So JSON stays the same JSON: there they stand only
    inside of strings. Lines and tabs stay."""
    return _UNSAFE.sub(_written_out, text)


def one_safe_line(text: str) -> str:
    """The same without a line break: for names, versions and messages that stand in a line of ours, so that
    none of them can look like a line of ours."""
    return safe_for_terminal(_BREAKS.sub(" ", text))


def _written_out(found: re.Match[str]) -> str:
    units = found[0].encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))
