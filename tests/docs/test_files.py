"""What is written down stays true: links lead somewhere, and no file tells of its author's machine."""

import json
import re
from collections.abc import Iterator
from fnmatch import fnmatch
from pathlib import Path

ROOT = Path(__file__).parents[2]

# Where checkouts of many people live: naming such a folder gives nothing away.
COMMON_FOLDERS = {"/", "/home", "/root", "/tmp", "/var/tmp", "/opt", "/srv", "/mnt", "/usr/src", "/workspace"}

CODE = re.compile(r"^(`{3,}|~{3,}).*?^\1|`[^`\n]*`", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(\s*<?([^)>\s]+)|^\s*\[[^\]]+\]:\s*(\S+)|(?:src|href)=\"([^\"]+)\"", re.MULTILINE)
ELSEWHERE = re.compile(r"[a-z][a-z0-9+.-]*:|#|//", re.IGNORECASE)
INDEX_OPTION = re.compile(r"(?:index-url|find-links|trusted-host|registry)[ =]+[\"']?(?:https?:|//|\w+\.\w+)")


def test_every_relative_link_in_the_documentation_leads_to_a_file() -> None:
    broken = [
        f"{document.relative_to(ROOT)}: {target}"
        for document in _files()
        if document.suffix == ".md"
        for target in _links(document.read_text())
        if not (document.parent / target).exists()
        or not (document.parent / target).resolve().is_relative_to(ROOT)
    ]
    assert broken == []


def test_no_file_names_a_folder_of_the_machine_it_was_written_on() -> None:
    folders = {str(ROOT), *({str(ROOT.parent)} - COMMON_FOLDERS)}
    # A name before the path means that it is part of a longer one, such as docs/code in a checkout at /code.
    path = re.compile(rf"(?<![\w.~/-])(?:{'|'.join(map(re.escape, sorted(folders)))})/")
    assert [str(file.relative_to(ROOT)) for file in _files() if path.search(_text(file))] == []


def test_no_file_names_the_package_index_it_was_resolved_from() -> None:
    assert [str(file.relative_to(ROOT)) for file in _files() if INDEX_OPTION.search(_text(file))] == []
    for lock in ("requirements.lock", "requirements-dev.lock", "scripts/release.lock"):
        assert "://" not in (ROOT / lock).read_text()


def test_locked_node_packages_come_from_the_public_registry() -> None:
    strangers = [
        f"{file.relative_to(ROOT)}: {name}"
        for file in _files()
        if file.name == "package-lock.json"
        for name, package in json.loads(file.read_text())["packages"].items()
        if not package.get("resolved", "https://registry.npmjs.org/").startswith(
            "https://registry.npmjs.org/"
        )
    ]
    assert strangers == []


def _files() -> Iterator[Path]:
    """Every file that git would track, found without git: it may be missing, or not trust the folder."""
    lines = (ROOT / ".gitignore").read_text().splitlines()
    ignored = [
        ".git",
        "node_modules",
        *(line.strip("/") for line in lines if line and not line.startswith("#")),
    ]

    def below(folder: Path) -> Iterator[Path]:
        for path in sorted(folder.iterdir()):
            names = (path.name, path.relative_to(ROOT).as_posix())
            if any(fnmatch(name, pattern) for name in names for pattern in ignored):
                continue
            if path.is_dir() and not path.is_symlink():
                yield from below(path)
            elif path.is_file():
                yield path

    return below(ROOT)


def _text(file: Path) -> str:
    return file.read_text(errors="replace")


def _links(markdown: str) -> Iterator[str]:
    for found in LINK.finditer(CODE.sub("", markdown)):
        target = next(filter(None, found.groups()))
        if not ELSEWHERE.match(target):
            yield target.partition("#")[0]
