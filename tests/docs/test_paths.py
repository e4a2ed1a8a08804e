"""Files and folders that the documentation names are there, under the names that it gives them."""

import re
from collections.abc import Iterator
from pathlib import Path

from docs.markdown_blocks import DOCUMENTS, ROOT
from docs.test_site import DOCS, FENCED

SOURCES = ROOT / "src" / "callgate"
PYTHON_FOLDERS = ("bench", "chaos", "evals", "src", "tests")
# Not examples such as `/path/to/server.py` or `~/folder/`.
PYTHON_FILE = re.compile(r"`((?:[\w.<>-]+/)*\w+\.py)`")
FOLDER = re.compile(r"`((?:[\w.<>-]+/)+)`")
FROM_THE_ROOT = re.compile(r"`((?:bench|chaos|docs|evals|scripts|src/callgate|tests|web)/[\w./-]*[\w/])[ `]")
PLACEHOLDER = re.compile(r"<\w+>")


def test_every_file_and_folder_of_the_architecture_is_there() -> None:
    page = DOCS / "architecture.md"
    named = [*_named(page, PYTHON_FILE), *_named(page, FOLDER)]
    assert len(named) > 50
    assert [path for path in named if not _stands_in(ROOT, path) and not _stands_in(SOURCES, path)] == []


def test_every_part_and_folder_of_the_code_is_in_the_architecture() -> None:
    packages = [*SOURCES.glob("*/__init__.py"), *SOURCES.glob("*/*/__init__.py")]
    folders = {f"{file.parent.relative_to(SOURCES).as_posix()}/" for file in packages}
    assert sorted(folders - set(_named(DOCS / "architecture.md", FOLDER))) == []


def test_python_files_that_a_page_names_are_in_the_repository() -> None:
    files = [*ROOT.glob("*.py"), *(file for part in PYTHON_FOLDERS for file in (ROOT / part).rglob("*.py"))]
    known = [f"/{file.relative_to(ROOT).as_posix()}" for file in files]
    missing = [
        f"{document.relative_to(ROOT)}: {path}"
        for document in DOCUMENTS
        for path in _named(document, PYTHON_FILE)
        if "<" not in path and not any(file.endswith(f"/{path}") for file in known)
    ]
    assert missing == []


def test_paths_from_the_root_of_the_repository_are_there() -> None:
    missing = [
        f"{document.relative_to(ROOT)}: {path}"
        for document in DOCUMENTS
        for path in _named(document, FROM_THE_ROOT)
        if not (ROOT / path).exists()
    ]
    assert missing == []


def _named(document: Path, what: re.Pattern[str]) -> Iterator[str]:
    yield from what.findall(FENCED.sub("", document.read_text("utf-8")))


def _stands_in(folder: Path, path: str) -> bool:
    return any(folder.glob(PLACEHOLDER.sub("*", path.rstrip("/"))))
