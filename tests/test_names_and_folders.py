"""A public class name is defined once: who searches for it finds one thing. No folder is overfull."""

import ast
from collections import defaultdict
from pathlib import Path, PurePath

TREE = Path(__file__).parents[1]
ROOT = TREE / "src" / "callgate"
# Where modules are, and how their names end.
MODULES = {"src/callgate": {".py"}, "tests": {".py"}, "web/src": {".ts", ".vue"}}
# One file for each thing of the world, whose number we do not choose.
CATALOGUES = {PurePath("tests/zoo/clients")}
ENGINES = ("sql", "engines")  # each folder below is one engine


def classes_by_name() -> dict[str, list[PurePath]]:
    found: dict[str, list[PurePath]] = defaultdict(list)
    for file in sorted(ROOT.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(file.relative_to(ROOT))
    return found


def are_parallel(files: list[PurePath]) -> bool:
    """Engines may name the same part alike, each in its own folder."""
    engines = [file.parts[2] for file in files if file.parts[:2] == ENGINES and len(file.parts) > 3]
    return len(engines) == len(set(engines)) == len(files)


def test_no_two_public_classes_have_the_same_name() -> None:
    found = classes_by_name()
    assert len(found) > 100, "the classes of src/callgate were not found"
    twice = [
        f"{name}: {', '.join(map(str, files))}"
        for name, files in sorted(found.items())
        if len(files) > 1 and not are_parallel(files)
    ]
    assert not twice, "\n".join(
        [
            "One word has one meaning (CONTRIBUTING.md, How we write). Give all but one of each a name that",
            "says what it is here (OfferKind, TokenKind), or make it private (_Kind) if nothing imports it:",
            *twice,
        ]
    )


def test_no_folder_has_more_modules_than_a_reader_can_look_over() -> None:
    folders = defaultdict[PurePath, list[str]](list)
    for root, kinds in MODULES.items():
        for file in (TREE / root).rglob("*"):
            if file.suffix in kinds and file.name != "__init__.py" and not file.name.endswith(".test.ts"):
                folders[file.parent.relative_to(TREE)].append(file.name)
    assert len(folders) > 60, "the folders were not found"
    full = [
        f"{folder}: {len(names)}"
        for folder, names in sorted(folders.items())
        if len(names) > 20 and folder not in CATALOGUES
    ]
    assert not full, (
        "At most 20 modules; merge those that only one other reads, or make a folder: " + ", ".join(full)
    )
