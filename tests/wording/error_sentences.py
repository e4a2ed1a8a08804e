"""Every sentence with which the product says that something is wrong, read from its source.

    PYTHONPATH=tests .venv/bin/python -m wording.error_sentences --write

writes them to `error_sentences.txt`, which is reviewed like a page of the documentation. `{name}` is a value,
`{one | other}` is one of several texts, `<run time: …>` is a sentence that the source does not hold.

A sentence may be given to a function that makes the error (`unclear(rule, reason, …)`): then it is listed
where that function is called. A new kind of error needs a line in `_MAKERS`.
"""

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wording.read_source import Function, Module, Source, Text, is_phrase, read_source

ROOT = Path(__file__).parents[2]
SNAPSHOT = Path(__file__).parent / "error_sentences.txt"

_HEAD = """\
Every error sentence of the product: read from src/callgate, never edited by hand.
Write it again with: PYTHONPATH=tests .venv/bin/python -m wording.error_sentences --write
"""


@dataclass(frozen=True)
class _Field:
    label: str  # "": the sentence itself
    name: str  # as a keyword
    position: int | None = None


@dataclass(frozen=True)
class _Maker:
    """A call that makes an error of some kind."""

    fields: tuple[_Field, ...]
    title: int | None = None  # which argument names the kind; else the maker does
    is_strict: bool = True  # a text that cannot be read is listed as such


_MESSAGE_AND_HINT = (_Field("", "message", 1), _Field("hint", "hint", 2))
_ERROR = _Maker(
    (_Field("", "message", 1), _Field("hint", "hint"), _Field("operator hint", "operator_hint")), 0
)
# Exceptions of ours that carry a sentence to the place that makes the error.
_EXCEPTION = _Maker((_Field("", "message", 0), _Field("hint", "hint", 1)), is_strict=False)
_FINDING = _Maker((_Field("", "text", 1), _Field("advice", "advice", 2)))
_MAKERS = {
    "Deny": _Maker((_Field("", "reason", 2), _Field("hint", "hint", 3)), 0),
    "Fault": _Maker((_Field("", "reason", 1), _Field("hint", "hint", 2)), 0),
    "ToolFault": _Maker(_MESSAGE_AND_HINT, 0),
    "ConfigProblem": _Maker(_MESSAGE_AND_HINT),
    "refusal": _Maker((_Field("", "message", 0), _Field("hint", "hint", 1))),
    "Mistake": _Maker((_Field("", "message", 2), _Field("hint", "hint", 3)), is_strict=False),
    "_Plain": _Maker((_Field("", "message", 1),)),  # of a value that is no such number or text
    "RpcFault": _Maker((_Field("", "message", 1),)),
    "DatabaseFault": _Maker((_Field("", "message", 2), _Field("hint", "hint", 3)), is_strict=False),
    "OpenFailed": _Maker((_Field("operator", "for_operator", 1),), is_strict=False),
    "Token": _Maker((_Field("", "fault"),), is_strict=False),
    "Health": _Maker((_Field("", "detail", 3),), is_strict=False),
    "Wording": _Maker(
        (
            _Field("read hint", "read_hint"),
            _Field("explain hint", "explain_hint"),
            _Field("hidden hint", "hidden_hint"),
            _Field("foreign verb", "foreign_verbs"),
        )
    ),
    "Finding": _FINDING,
    "DoctorFinding": _FINDING,
    "answer_error": _Maker((_Field("", "text", 0),), is_strict=False),
    "_blocked": _Maker((_Field("", "reason", 2),), is_strict=False),  # of `callgate guard`
    "ignore": _Maker((_Field("hint", "hint", 1),), is_strict=False),  # a key of another program's file
    "_code": _Maker((_Field("", "summary", 1),), 0),
    "BadParameter": _Maker((_Field("", "message", 0),)),
    "ValueError": _Maker((_Field("", "message", 0),), is_strict=False),
}


# What they return is a sentence, or a list of them.
_SAYING = {
    "_Watched.problem",
    "_beyond",
    "Parameter.problem_with",
    "Parameter._problem_with_length",
    "check_arguments",
    "read_arguments",
}


@dataclass
class Entry:
    path: str
    line: int
    title: str
    sentences: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])  # label, text

    def __str__(self) -> str:
        lines = [f"{self.path}: {self.title}"]
        for label, text in self.sentences:
            lines.append("  " + (f"{label}: " if label else "") + text.replace("\n", "\\n"))
        return "\n".join(lines)


class _Collector:
    def __init__(self, source: Source) -> None:
        self._source = source
        self._errors = _subclasses(source, {"CallgateError"})
        # RefusedVisitError carries an error, not a sentence; RefusedValueError is made by `refusal` alone.
        self._exceptions = (
            _subclasses(source, {"Exception", "ValueError"})
            - self._errors
            - {"RefusedVisitError", "RefusedValueError"}
        )
        # Those that are made with a code and a message; others word it themselves, or take only a part of it.
        self._plain_errors = {name for name in self._errors if not self._has_own_words(name)}
        self._derived: dict[tuple[str, str], dict[str, str]] = {}  # a function of ours: parameter -> label
        self._derived_names: set[str] = set()
        self._called: set[tuple[str, str]] = set()  # of these functions, those whose callers were found
        self._codes = {
            name: node.args[0].value
            for module in source.modules.values()
            for name, values in module.constants.items()
            for node in values
            if isinstance(node, ast.Call)
            and _name(node.func) == "_code"
            and isinstance(node.args[0], ast.Constant)
        }

    def entries(self) -> list[Entry]:
        found = [*self._of_makers(), *self._of_returned()]
        done: dict[tuple[str, str], set[str]] = {}
        while True:
            new = {
                key: {one: label for one, label in parameters.items() if one not in done.get(key, ())}
                for key, parameters in self._derived.items()
            }
            if not any(new.values()):
                break
            for key, parameters in new.items():
                done.setdefault(key, set()).update(parameters)
            found += self._of_functions(new)
        found += [
            Entry(
                self._source.modules[where].path,
                0,
                f"{name}()",
                [("", "<run time: its callers were not found>")],
            )
            for where, name in self._derived.keys() - self._called
            if any(not label.startswith("{") for label in self._derived[where, name].values())
        ]
        found = [entry for entry in found if entry.sentences]
        found.sort(key=lambda entry: (entry.path, entry.line))
        return _merged(found)

    def constructions(self) -> list[tuple[str, int, str]]:
        return [(module.path, call.lineno, name) for module, call, name, _ in self._made()]

    def _made(self) -> Iterator[tuple[Module, ast.Call, str, _Maker]]:
        for name, calls in self._source.calls.items():
            maker = _ERROR if name in self._plain_errors else _MAKERS.get(name)
            if maker is None and name in self._exceptions:
                maker = _EXCEPTION
            for module, call in calls:
                owner = module.class_of(call) if name == "__init__" else None
                if owner is not None and any(_name(base) in self._plain_errors for base in owner.bases):
                    yield module, call, owner.name, _ERROR
                elif name == "" and any(keyword.arg == "hint" for keyword in call.keywords):
                    yield module, call, "error", _ERROR  # its class is chosen when it runs
                elif maker is not None:
                    yield module, call, name, maker

    def _of_makers(self) -> Iterator[Entry]:
        for module, call, name, maker in self._made():
            title = name if maker.title is None else self._title(module, call, maker.title)
            entry = Entry(module.path, call.lineno, title)
            for item in maker.fields:
                argument = _argument(call, item.name, item.position)
                if argument is not None:
                    self._say(entry, module, argument, item.label, is_strict=maker.is_strict)
            yield entry

    def _of_returned(self) -> Iterator[Entry]:
        for module in self._source.modules.values():
            for name in sorted(_SAYING & module.functions.keys()):
                function = module.functions[name]
                entry = Entry(module.path, function.lineno, f"{name}()")
                for node in ast.walk(function):
                    said = node.value if isinstance(node, ast.Return | ast.AugAssign) else None
                    if isinstance(node, ast.Call) and _name(node.func) == "append":
                        said = node.args[0]
                    for text in self._source.texts(module, said) if said is not None else ():
                        if text.is_written and ("", text.text) not in entry.sentences:
                            entry.sentences.append(("", text.text))
                yield entry

    def _of_functions(self, wanted: dict[tuple[str, str], dict[str, str]]) -> Iterator[Entry]:
        """What callers give to a function that makes an error of it."""
        for module, call in (found for calls in self._source.calls.values() for found in calls):
            if _name(call.func) not in self._derived_names | {"__init__"}:
                continue
            target = self._source.find(module, call.func)
            if target is None:
                continue
            where, name = target
            key = (where.name, f"{name}.__init__" if name in where.classes else name)
            if key not in wanted:
                continue
            self._called.add(key)
            entry = Entry(module.path, call.lineno, f"{name}()")
            for parameter, label in wanted[key].items():
                argument = _argument(call, parameter, _position(where.functions[key[1]], parameter))
                if argument is not None:
                    self._say(entry, module, argument, label, is_strict=False)
            yield entry

    def _say(self, entry: Entry, module: Module, node: ast.expr, label: str, *, is_strict: bool) -> None:
        texts = self._source.texts(module, node)
        follows = self._follow_parameters(module, node, texts, label)
        is_part = label.startswith("{")
        for text in texts:
            if text.is_written and (not is_part or is_phrase(text.text)):
                entry.sentences.append((label, text.text))
        if is_strict and not label and not follows and not any(text.is_written for text in texts):
            entry.sentences.append((label, f"<run time: {ast.unparse(node)}>"))

    def _follow_parameters(self, module: Module, node: ast.expr, texts: list[Text], label: str) -> bool:
        """A parameter that is the sentence, or a part of it: what callers give is collected too."""
        function = module.function_of(node)
        if function is None or function not in module.names:
            return False
        name = module.names[function]
        if name.removesuffix(".__init__") in self._plain_errors:
            return True
        whole = sorted({text.parameter for text in texts if text.parameter})
        parts = sorted(self._source.parameters_in(module, node) - set(whole))
        for parameter in (*whole, *parts):
            parameters = self._derived.setdefault((module.name, name), {})
            parameters.setdefault(parameter, label if parameter in whole else f"{{{parameter}}}")
            self._derived_names.add(name.removesuffix(".__init__").rpartition(".")[2])
        return bool(whole or parts)

    def _title(self, module: Module, call: ast.Call, position: int) -> str:
        argument = call.args[position] if len(call.args) > position else None
        if argument is None:
            return _name(call.func)
        if isinstance(argument, ast.Constant):
            return str(argument.value)
        names = [_name(part) for part in ast.walk(argument) if isinstance(part, ast.Name | ast.Attribute)]
        codes = [str(self._codes[name]) for name in names if name in self._codes]
        return " or ".join(codes) or f"{_name(call.func)}({ast.unparse(argument)})"

    def _has_own_words(self, name: str) -> bool:
        for module in self._source.modules.values():
            made = module.functions.get(f"{name}.__init__")
            if made is not None:
                return [item.arg for item in made.args.args[1:3]] != ["code", "message"]
        return False


def _subclasses(source: Source, roots: set[str]) -> set[str]:
    known = set(roots)
    found: set[str] = set()
    while True:
        more = {
            name
            for module in source.modules.values()
            for name, node in module.classes.items()
            if name not in known and any(_name(base) in known for base in node.bases)
        }
        if not more:
            return found | ({"CallgateError"} & roots)
        known |= more
        found |= more


def _merged(entries: list[Entry]) -> list[Entry]:
    """One entry for each place; a function that is reached in two ways is told once."""
    merged: dict[tuple[str, int, str], Entry] = {}
    for entry in entries:
        key = (entry.path, entry.line, entry.title)
        if key in merged:
            merged[key].sentences += [one for one in entry.sentences if one not in merged[key].sentences]
        else:
            merged[key] = entry
    return list(merged.values())


def _argument(call: ast.Call, name: str, position: int | None) -> ast.expr | None:
    for keyword in call.keywords:
        if keyword.arg == name:
            return keyword.value
    if position is not None and position < len(call.args):
        return call.args[position]
    return None


def _position(function: Function, parameter: str) -> int | None:
    names = [item.arg for item in (*function.args.posonlyargs, *function.args.args)]
    if names[:1] in (["self"], ["cls"]):
        names = names[1:]
    return names.index(parameter) if parameter in names else None


def _name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def collect(source: Source) -> list[Entry]:
    return _Collector(source).entries()


def constructions(source: Source) -> list[tuple[str, int, str]]:
    """Every place where an error is made: path, line, what makes it."""
    return _Collector(source).constructions()


def rendered(source: Source) -> str:
    return _HEAD + "\n" + "\n".join(f"{entry}\n" for entry in collect(source))


if __name__ == "__main__":
    text = rendered(read_source(ROOT / "src"))
    if sys.argv[1:] == ["--write"]:
        SNAPSHOT.write_text(text)
    else:
        print(text, end="")
