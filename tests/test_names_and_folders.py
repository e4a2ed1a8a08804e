"""A public class name is defined once: who searches for it finds one thing. No folder is overfull, and no
module is so small that its only reader could hold it."""

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
# A module of at most so many lines belongs into its only reader (CONTRIBUTING.md, Code).
SMALL_LINES = 60
# Those that stay, and why.
BORDERS = {
    "__main__": "the entry point of `python -m callgate`",
    "cli.safe_console": "imports rich, which takes long: `terminal` imports it when it prints",
    "sql.engines.duckdb.dialect.tree": "imports sqlglot, which takes 95 ms: `grammar` imports it when needed",
    "sql.engines.duckdb.engine": "the engine's one value, found by the name of its folder",
    "sql.engines.mysql.engine": "the engine's one value, found by the name of its folder",
    "sql.engines.postgres.engine": "the engine's one value, found by the name of its folder",
    "sql.engines.sqlite.engine": "the engine's one value, found by the name of its folder",
    "sql.guard.sqlglot_source": "must be imported before sqlglot itself",
    "sql.server.open_source": "the one way into `sql`: plain values in, a running source out",
}


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


def imported_by(tree: ast.Module) -> set[str]:
    """Names that may be modules: of `from a import b` both a and a.b."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            found.add(node.module)
            found.update(f"{node.module}.{alias.name}" for alias in node.names)
    return found


def small_modules() -> dict[str, list[str]]:
    """By name, with their readers."""
    texts: dict[str, str] = {}
    for file in ROOT.rglob("*.py"):
        if file.name != "__init__.py":
            texts[".".join(file.relative_to(ROOT.parent).with_suffix("").parts)] = file.read_text()
    readers = defaultdict[str, list[str]](list)
    for name, text in texts.items():
        for imported in imported_by(ast.parse(text)):
            readers[imported].append(name)
    return {
        name.removeprefix("callgate."): readers[name]
        for name, text in texts.items()
        if len(text.splitlines()) <= SMALL_LINES and len(readers[name]) < 2
    }


def test_a_small_module_has_two_readers_or_is_a_border() -> None:
    small = small_modules()
    assert small.keys() & BORDERS.keys() == BORDERS.keys(), (
        "a border that is none any more: take it off the list"
    )
    found = [
        f"{name}, which only {', '.join(readers) or 'nobody'} imports"
        for name, readers in sorted(small.items())
        if name not in BORDERS
    ]
    assert not found, "\n".join(
        [f"A module needs two readers or more than {SMALL_LINES} lines. Move it into its reader:", *found]
    )
