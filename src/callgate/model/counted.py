"""A number and its noun."""


def counted(count: int, noun: str) -> str:
    """ "1 table", "1,200 tables": of nouns that take an s."""
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
