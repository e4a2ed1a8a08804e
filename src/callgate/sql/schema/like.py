"""People's patterns as LIKE reads them, | being its escape on every engine. Pure."""


def like_pattern(pattern: str) -> str:
    """* stands for anything, ? for one character; a plain word is looked for anywhere in the name."""
    escaped = "".join(f"|{char}" if char in "|_" else char for char in pattern.strip())
    like = escaped.replace("*", "%").replace("?", "_")
    has_wildcard = any(char in pattern for char in "*?%")
    return like if has_wildcard else f"%{like}%"


def like_exactly(name: str) -> str:
    return "".join(f"|{char}" if char in "|_%" else char for char in name)
