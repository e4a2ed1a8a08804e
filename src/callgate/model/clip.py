"""A text of somebody else's, short enough to be quoted."""


def clip(text: str, most_chars: int) -> str:
    return text if len(text) <= most_chars else f"{text[: most_chars - 1]}…"
