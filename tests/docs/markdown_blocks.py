"""The fenced blocks of a document, and what is said about each where no reader sees it.

On the lines before a block, `<!-- before: … -->` is a command that makes ready what the block needs, and
`<!-- not run: … -->` says that nobody runs it here, and why that is right.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "evals" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
]
_BLOCK = re.compile(
    r"^(?:<!-- before: (?P<before>[^\n]*) -->\n)?(?:<!-- not run: (?P<why>[^\n]*) -->\n)?"
    r"(?P<fence>`{3,}|~{3,})(?P<kind>[^\n]*)\n(?P<body>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, slots=True)
class Block:
    document: Path
    line: int
    kind: str
    body: str
    before: str | None
    not_run: str | None

    def __str__(self) -> str:
        return f"{self.document.relative_to(ROOT)}:{self.line}"


@dataclass(frozen=True, slots=True)
class Command:
    """One `$ …` of a console block, and what is printed below it."""

    typed: str
    printed: str


def blocks(*kinds: str) -> list[Block]:
    return [
        block for document in DOCUMENTS for block in _blocks_of(document) if not kinds or block.kind in kinds
    ]


def _blocks_of(document: Path) -> Iterator[Block]:
    text = document.read_text("utf-8")
    for found in _BLOCK.finditer(text):
        line = text.count("\n", 0, found.start("fence")) + 1
        yield Block(document, line, found["kind"].strip(), found["body"], found["before"], found["why"])


def commands(block: Block) -> list[Command]:
    found: list[Command] = []
    for line in block.body.splitlines():
        if line.startswith("$ "):
            found.append(Command(line[2:], ""))
        else:
            assert found, f"{block}: output before the first command"
            found[-1] = Command(found[-1].typed, f"{found[-1].printed}{line}\n")
    return found
