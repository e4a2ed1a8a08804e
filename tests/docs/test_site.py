"""The site: every page is in its navigation, links lead somewhere, and it builds where mkdocs is at hand."""

import os
import re
import subprocess
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import pytest
import yaml
from docs.markdown_blocks import DOCUMENTS, ROOT
from docs.test_files import CODE, ELSEWHERE, LINK

DOCS = ROOT / "docs"
SITE = yaml.safe_load((ROOT / "mkdocs.yml").read_text("utf-8"))
MKDOCS = ROOT / ".cache/docs/venv/bin/mkdocs"  # scripts/docs installs it
FENCED = re.compile(r"^(`{3,}|~{3,}).*?^\1$", re.MULTILINE | re.DOTALL)
LONGEST_LINE = 120


def test_the_navigation_names_every_page_once() -> None:
    named = list(_pages(SITE["nav"]))
    assert sorted(named) == sorted(set(named))
    assert [page for page in named if not (DOCS / page).is_file()] == []
    elsewhere = SITE["not_in_nav"].split()
    pages = {file.relative_to(DOCS).as_posix() for file in DOCS.rglob("*.md")}
    reached = {page for page in pages if any(fnmatch(f"/{page}", pattern) for pattern in elsewhere)}
    assert pages - reached == set(named)


@pytest.mark.parametrize("index", ["errors/README.md", "decisions/README.md"])
def test_pages_outside_of_the_navigation_are_in_the_index_of_their_folder(index: str) -> None:
    folder = (DOCS / index).parent
    linked = set(LINK.findall((DOCS / index).read_text("utf-8")))
    names = {target.partition("#")[0] for found in linked for target in found if target}
    assert {file.name for file in folder.glob("*.md")} - {"README.md"} <= names


def test_links_stay_within_the_site() -> None:
    """What is outside of docs/ is not part of the site: a page names it instead of linking to it."""
    outside = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCS.rglob("*.md")
        for target in _links(document)
        if not (document.parent / target.partition("#")[0]).resolve().is_relative_to(DOCS)
    ]
    assert outside == []


def test_every_link_to_a_heading_finds_it() -> None:
    missing = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in DOCUMENTS
        for target in _links(document)
        if "#" in target and target.partition("#")[2] not in _headings(document, target.partition("#")[0])
    ]
    assert missing == []


def test_lines_are_short_outside_of_tables_and_blocks() -> None:
    long = [
        f"{document.relative_to(ROOT)}: {line[:60]}…"
        for document in DOCUMENTS
        for line in FENCED.sub("", document.read_text("utf-8")).splitlines()
        if len(line) > LONGEST_LINE and not line.startswith(("|", "<!--"))
    ]
    assert long == []


@pytest.mark.skipif(not MKDOCS.exists(), reason="scripts/docs has not installed mkdocs here")
def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    done = subprocess.run(
        [MKDOCS, "build", "--strict", "--site-dir", tmp_path], cwd=ROOT, text=True,
        capture_output=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "start" / "index.html").is_file()


def _pages(nav: Any) -> Iterator[str]:
    match nav:
        case str():
            yield nav
        case dict():
            for below in nav.values():
                yield from _pages(below)
        case _:
            for entry in nav:
                yield from _pages(entry)


def _links(document: Path) -> Iterator[str]:
    """Those within the repository, with the heading that they lead to."""
    for found in LINK.finditer(CODE.sub("", document.read_text("utf-8"))):
        target = next(filter(None, found.groups()))
        if target.startswith("#") or not ELSEWHERE.match(target):
            yield target


def _headings(document: Path, target: str) -> set[str]:
    file = document.parent / target if target else document
    if file.suffix != ".md":
        return set()
    headings = re.findall(r"^#+ (.+)$", FENCED.sub("", file.read_text("utf-8")), re.MULTILINE)
    return {_slug(heading) for heading in headings}


def _slug(heading: str) -> str:
    """As GitHub makes it; mkdocs makes the same of the headings that we link to."""
    return re.sub(r"\s", "-", re.sub(r"[^\w\- ]", "", heading.lower()))
