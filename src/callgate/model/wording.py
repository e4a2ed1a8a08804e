"""Small pieces of sentences that people read."""


def clip(text: str, most_chars: int) -> str:
    """A text of somebody else's, short enough to be quoted."""
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"


def counted(count: int, noun: str) -> str:
    """ "1 table", "1,200 tables": of nouns that take an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def install_extra(extra: str) -> str:
    """How to get an extra's packages. Nothing is published: an index may have others under our name."""
    return f"pip install '.[{extra}]' in the folder with the sources"
