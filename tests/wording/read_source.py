"""The source as trees, and what an expression in it can say: every text that may become its value.

Owns the reading of Python. Must not know which calls make errors; `error_sentences` does.

A value that is not written in the source is shown as `{name}`. What is followed: constants of modules, local
variables (the assignments that reach the place), parts of an expression, and what functions of ours return.
"""

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

_MAX_DEPTH = 5  # calls of functions inside one another
# They change how a text looks, not what it says: (the function's name, which argument is the text).
_SAME_TEXT = frozenset(
    {"str", "repr", "clip", "hide", "redact", "escape", "one_safe_line", "MappingProxyType"}
)
_SAME_TEXT_METHODS = frozenset({"capitalize", "format", "lstrip", "removesuffix", "rstrip", "strip"})
# They are named after what they are given.
_BUILTINS = frozenset({"int", "len", "max", "min", "next", "ord", "round", "sorted", "type"})

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Text:
    """One thing that an expression can say."""

    text: str
    is_written: bool  # holds words of the source; else it is only a placeholder
    parameter: str = ""  # the text is this parameter of the function, so its callers say it


@dataclass(frozen=True, eq=False)
class _Bound:
    """A value of a local variable: an expression, or one part of a tuple, or what stood there and more."""

    node: ast.expr | None  # None: known only when it runs
    index: int | None = None
    is_row: bool = False  # the value is each row of `node` in turn, or the part of it that `index` says
    before: tuple["_Bound", ...] = ()


@dataclass(eq=False)
class Module:
    name: str
    path: str
    tree: ast.Module
    imports: dict[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    constants: dict[str, list[ast.expr]] = field(default_factory=dict[str, list[ast.expr]])
    functions: dict[str, Function] = field(default_factory=dict[str, Function])  # `f`, `Class.f`
    classes: dict[str, ast.ClassDef] = field(default_factory=dict[str, ast.ClassDef])

    @cached_property
    def nodes(self) -> list[ast.AST]:
        return list(ast.walk(self.tree))

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        return {child: node for node in self.nodes for child in ast.iter_child_nodes(node)}

    def function_of(self, node: ast.AST) -> Function | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, Function):
            above = self.parents.get(above)
        return above

    def class_of(self, node: ast.AST) -> ast.ClassDef | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.ClassDef):
            above = self.parents.get(above)
        return above

    @cached_property
    def names(self) -> dict[Function, str]:
        return {function: name for name, function in self.functions.items()}


class Source:
    def __init__(self, files: dict[str, str]) -> None:
        """`files`: path -> text, the path as `callgate/model/errors.py`."""
        self.modules = {module.name: module for module in map(_read_module, files, files.values())}
        self.calls: dict[
            str, list[tuple[Module, ast.Call]]
        ] = {}  # by the last part of the name that is called
        self._properties: dict[str, list[tuple[Module, Function]]] = {}
        for module in self.modules.values():
            for name, function in module.functions.items():
                if any(_last_name(one) in ("property", "cached_property") for one in function.decorator_list):
                    self._properties.setdefault(name.rpartition(".")[2], []).append((module, function))
            for node in module.nodes:
                if isinstance(node, ast.Call):
                    self.calls.setdefault(_last_name(node.func), []).append((module, node))

    def find(self, module: Module, node: ast.expr) -> tuple[Module, str] | None:
        """Where a name leads: the module of ours that defines it, and its name there (`f`, `Class.f`)."""
        match node:
            case ast.Name(id=name):
                if name in module.functions or name in module.classes or name in module.constants:
                    return module, name
                target = module.imports.get(name)
                if target is not None and target[0] in self.modules and target[1]:
                    return self.find(self.modules[target[0]], ast.Name(target[1]))
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=name):
                owner = module.class_of(node)
                if owner is not None and f"{owner.name}.{name}" in module.functions:
                    return module, f"{owner.name}.{name}"
            case ast.Attribute(value=ast.Call(func=ast.Name(id="super")), attr="__init__"):
                owner = module.class_of(node)
                return self.find(module, owner.bases[0]) if owner is not None and owner.bases else None
            case ast.Attribute(value=ast.Name(id=above), attr=name) if above in module.imports:
                inner = ".".join(filter(None, module.imports[above]))
                if inner in self.modules:
                    return self.find(self.modules[inner], ast.Name(name))
            case _:
                pass
        return None

    def texts(self, module: Module, node: ast.expr, depth: int = 0) -> list[Text]:
        """Everything that the expression can say, each once."""
        return list(dict.fromkeys(self._texts(module, node, depth)))

    def parameters_in(self, module: Module, node: ast.expr) -> set[str]:
        """The parameters of the function that stand in an f-string which is the expression, or reaches it."""
        function = module.function_of(node)
        if function is None:
            return set()
        names = set(_parameters(function)) - {"self", "cls"}
        found: set[str] = set()
        todo: list[ast.expr] = [node]
        while todo:
            for part in ast.walk(todo.pop()):
                if isinstance(part, ast.FormattedValue) and isinstance(part.value, ast.Name):
                    if part.value.id in names and not _reaching(module, function, part.value):
                        found.add(part.value.id)
                elif isinstance(part, ast.Name) and part.id not in names:
                    todo += [
                        value.node
                        for value in _reaching(module, function, part)
                        if value.node is not None and isinstance(value.node, ast.JoinedStr)
                    ]
        return found

    def _texts(self, module: Module, node: ast.expr, depth: int) -> Iterator[Text]:
        match node:
            case ast.Constant(value=str(text)):
                yield Text(text, is_written=bool(text.strip()))
            case ast.JoinedStr(values=parts):
                yield self._joined([self._part(module, part, depth) for part in parts])
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                yield self._joined([_as_one(self.texts(module, side, depth)) for side in (left, right)])
            case ast.Name():
                yield from self._of_name(module, node, depth)
            case ast.Call():
                yield from self._of_call(module, node, depth)
            case ast.Subscript(value=value, slice=ast.Slice()):
                yield from self._texts(module, value, depth)
            case ast.Subscript(value=value) if (found := self._constant(module, value)) is not None:
                yield from self._written(found[0], found[1], depth) or [_placeholder(node)]
            case ast.Attribute() if (found := self._constant(module, node)) is not None:
                yield from self._texts(found[0], found[1], depth)
            case ast.Attribute():
                yield from self._of_property(node, depth) or [_placeholder(node)]
            case _:
                for one in _choices(node):
                    yield from self._texts(module, one, depth)
                if not _choices(node):
                    yield _placeholder(node)

    def _part(self, module: Module, part: ast.expr, depth: int) -> Text:
        """A piece of an f-string."""
        if not isinstance(part, ast.FormattedValue):
            return _as_one(self.texts(module, part, depth))
        inner = part.value
        while isinstance(inner, ast.Call) and _last_name(inner.func) in _SAME_TEXT and inner.args:
            inner = inner.args[0]
        if isinstance(inner, ast.IfExp | ast.BoolOp | ast.Constant | ast.Name | ast.Call):
            found = self.texts(module, inner, depth)
            if any(text.is_written for text in found):
                return _as_one(found)
        return _placeholder(inner)

    def _joined(self, parts: Sequence[Text]) -> Text:
        return Text("".join(part.text for part in parts), any(part.is_written for part in parts))

    def _of_name(self, module: Module, node: ast.Name, depth: int) -> Iterator[Text]:
        function = module.function_of(node)
        while function is not None:
            values = _reaching(module, function, node)
            for value in values:
                yield from self._of_bound(module, value, depth)
            if values:
                return
            if node.id in _parameters(function):
                yield Text(f"{{{node.id}}}", is_written=False, parameter=node.id)
                default = _default(function, node.id)
                if default is not None:
                    yield from self._written(module, default, depth)
                return
            function = module.function_of(function)
        found = self._constant(module, node)
        if found is None:
            yield _placeholder(node)
        else:
            yield from self._texts(found[0], found[1], depth)

    def _of_bound(self, module: Module, value: _Bound, depth: int) -> Iterator[Text]:
        if value.node is None:
            return
        if value.is_row:
            yield from self._of_rows(module, value.node, value.index, depth)
        elif value.before:
            before = [text for one in value.before for text in self._of_bound(module, one, depth)]
            more = self._as_part(module, value.node, depth)
            yield self._joined([_as_one(list(dict.fromkeys(before))), more])
        elif value.index is None:
            yield from self._texts(module, value.node, depth)
        else:
            yield from self._of_element(module, value.node, value.index, depth)

    def _of_rows(self, module: Module, node: ast.expr, index: int | None, depth: int) -> Iterator[Text]:
        """What the variable of a loop over a constant table can be."""
        found = self._constant(module, node)
        rows = found[1].elts if found is not None and isinstance(found[1], ast.Tuple | ast.List) else ()
        for row in rows:
            if found is not None and index is not None:
                yield from self._of_element(found[0], row, index, depth)
            elif found is not None:
                yield from self._texts(found[0], row, depth)

    def _as_part(self, module: Module, node: ast.expr, depth: int) -> Text:
        return _as_one(self.texts(module, node, depth))

    def _of_element(self, module: Module, node: ast.expr, index: int, depth: int) -> Iterator[Text]:
        """One part of a tuple."""
        match node:
            case ast.Tuple(elts=values) if index < len(values):
                yield from self._texts(module, values[index], depth)
            case ast.IfExp(body=one, orelse=other):
                yield from self._of_element(module, one, index, depth)
                yield from self._of_element(module, other, index, depth)
            case ast.Await(value=value):
                yield from self._of_element(module, value, index, depth)
            case ast.Call():
                for where, returned in self._returns(module, node, depth):
                    yield from self._of_element(where, returned, index, depth + 1)
            case ast.Subscript(value=value) if (found := self._constant(module, value)) is not None:
                for row in found[1].values if isinstance(found[1], ast.Dict) else ():
                    yield from self._of_element(found[0], row, index, depth)
            case ast.Name() if (function := module.function_of(node)) is not None:
                for bound in _reaching(module, function, node):
                    if bound.node is not None and bound.index is None:
                        yield from self._of_element(module, bound.node, index, depth)
            case _:
                return

    def _of_call(self, module: Module, node: ast.Call, depth: int) -> Iterator[Text]:
        name = _last_name(node.func)
        if isinstance(node.func, ast.Attribute) and name in _SAME_TEXT_METHODS:
            yield from self._texts(module, node.func.value, depth)
            return
        if isinstance(node.func, ast.Attribute) and name == "get":
            table = self._constant(module, node.func.value)
            rows = [] if table is None else self._written(table[0], table[1], depth)
            rest = [] if len(node.args) < 2 else self._written(module, node.args[1], depth)
            yield from [*rows, *rest] or [_placeholder(node)]
            return
        if name == "next" and node.args and isinstance(node.args[0], ast.GeneratorExp):
            yield from self._of_generator(module, node.args[0], depth)
            for default in node.args[1:]:
                yield from self._texts(module, default, depth)
            return
        if name in _SAME_TEXT and node.args:
            yield from self._texts(module, node.args[0], depth)
            return
        said = [
            text
            for where, returned in self._returns(module, node, depth)
            for text in self._written(where, returned, depth + 1)
        ]
        yield from said or [_placeholder(node)]

    def _of_generator(self, module: Module, node: ast.GeneratorExp, depth: int) -> Iterator[Text]:
        if isinstance(node.elt, ast.Name):
            for part in node.generators:
                for value in _loop(part.target, part.iter, node.elt.id) or ():
                    yield from self._of_bound(module, value, depth)

    def _of_property(self, node: ast.Attribute, depth: int) -> list[Text]:
        """What a property says, if only one class of ours has it."""
        found = self._properties.get(node.attr, [])
        if len(found) != 1 or depth >= _MAX_DEPTH:
            return []
        where, function = found[0]
        returned = _returned(where, function)
        return [text for value in returned for text in self._written(where, value, depth + 1)]

    def _written(self, module: Module, node: ast.expr, depth: int) -> list[Text]:
        """Only what holds words: values of a table that are not texts, and parts of our own, are left out."""
        return [text for text in self.texts(module, node, depth) if text.is_written and is_phrase(text.text)]

    def _returns(self, module: Module, node: ast.Call, depth: int) -> Iterator[tuple[Module, ast.expr]]:
        found = self.find(module, node.func)
        if found is None or depth >= _MAX_DEPTH:
            return
        where, name = found
        if name in where.functions:
            yield from ((where, returned) for returned in _returned(where, where.functions[name]))

    def _constant(self, module: Module, node: ast.expr) -> tuple[Module, ast.expr] | None:
        found = self.find(module, node)
        if found is None or len(found[0].constants.get(found[1], ())) != 1:
            return None
        return found[0], found[0].constants[found[1]][0]


def _returned(module: Module, function: Function) -> Iterator[ast.expr]:
    for inner in ast.walk(function):
        if (
            isinstance(inner, ast.Return)
            and inner.value is not None
            and module.function_of(inner) is function
        ):
            yield inner.value


def is_phrase(text: str) -> bool:
    return " " in text.strip() or text.endswith(".")


def _choices(node: ast.expr) -> list[ast.expr]:
    """The expressions that this one chooses from, or holds."""
    match node:
        case ast.IfExp(body=one, orelse=other):
            return [one, other]
        case ast.BoolOp(op=ast.Or(), values=values) | ast.Dict(values=values):
            return values
        case ast.NamedExpr(value=value) | ast.Await(value=value) | ast.Starred(value=value):
            return [value]
        case ast.Tuple(elts=values) | ast.List(elts=values) | ast.Set(elts=values):
            return values
        case ast.ListComp(elt=value):
            return [value]
        case _:
            return []


def _as_one(texts: Sequence[Text]) -> Text:
    """Alternatives inside a sentence: `{one | other}`."""
    if len(texts) == 1:
        return Text(texts[0].text, texts[0].is_written)
    inner = " | ".join(text.text if text.is_written else text.text[1:-1] for text in texts)
    return Text(f"{{{inner}}}", any(text.is_written for text in texts))


def _placeholder(node: ast.expr) -> Text:
    return Text(f"{{{_name_of(node)}}}", is_written=False)


def _name_of(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name.lstrip("_") if isinstance(node, ast.Attribute) else name
        case ast.Call():
            return _name_of_call(node)
        case ast.Subscript(value=inner) | ast.Await(value=inner) | ast.Starred(value=inner):
            return _name_of(inner)
        case ast.GeneratorExp(elt=inner) | ast.ListComp(elt=inner) | ast.FormattedValue(value=inner):
            return _name_of(inner)
        case ast.Constant(value=value):
            return str(value)
        case ast.BinOp(left=left, right=right):
            return _name_of(right if isinstance(left, ast.Constant) else left)
        case ast.IfExp(body=one, orelse=other):
            return f"{_name_of(one)} | {_name_of(other)}"
        case ast.JoinedStr(values=parts):
            return "".join(
                _name_of(part) if isinstance(part, ast.Constant) else f"{{{_name_of(part)}}}"
                for part in parts
            )
        case _:
            return ast.unparse(node)[:40]


def _name_of_call(node: ast.Call) -> str:
    match node:
        case ast.Call(func=ast.Attribute(value=ast.Constant(), attr="join"), args=[inner, *_]):
            return f"{_name_of(inner)}, …"
        case ast.Call(func=func, args=[inner, *_]) if _last_name(func) in _SAME_TEXT | _BUILTINS:
            return _name_of(inner)
        case ast.Call(func=ast.Attribute(value=value, attr="strip" | "lower" | "upper" | "replace" | "get")):
            return _name_of(value)
        case _:
            return f"{_last_name(node.func)}()"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _parameters(function: Function) -> list[str]:
    spec = function.args
    return [item.arg for item in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs)]


def _default(function: Function, name: str) -> ast.expr | None:
    spec = function.args
    positional = [item.arg for item in (*spec.posonlyargs, *spec.args)]
    defaults = dict(zip(reversed(positional), reversed(spec.defaults), strict=False))
    named = {item.arg: value for item, value in zip(spec.kwonlyargs, spec.kw_defaults, strict=True)}
    return defaults.get(name) or named.get(name)


# --- which assignments reach a place

_Values = tuple[_Bound, ...]


def _reaching(module: Module, function: Function, use: ast.Name) -> _Values:
    above: set[ast.AST] = {use}
    node: ast.AST | None = use
    while node is not None and node is not function:
        above.add(node)
        node = module.parents.get(node)
    return _descend(function.body, use.id, (), above)


def _descend(block: Sequence[ast.stmt], name: str, values: _Values, above: set[ast.AST]) -> _Values:
    """The values when the place is reached, which is inside one of these statements."""
    for statement in block:
        if statement not in above:
            values = _after(statement, name, values) or ()
            continue
        values = _walrus(statement, name) or values
        if isinstance(statement, ast.Try):
            behind = values + (_flow(statement.body, name, values) or ())
            for handler in statement.handlers:
                if handler in above:
                    return _descend(handler.body, name, behind, above)
            if any(inner in above for inner in (*statement.orelse, *statement.finalbody)):
                values = behind
        if isinstance(statement, ast.For | ast.AsyncFor | ast.With | ast.AsyncWith):
            values = _target(statement, name, values)
        for inner in _blocks(statement):
            if any(one in above for one in inner):
                return _descend(inner, name, values, above)
        return values
    return values


def _blocks(statement: ast.stmt) -> list[list[ast.stmt]]:
    if isinstance(statement, ast.Match):
        return [case.body for case in statement.cases]
    blocks = [getattr(statement, part, []) for part in ("body", "orelse", "finalbody")]
    return [*blocks, *(handler.body for handler in getattr(statement, "handlers", []))]


def _flow(block: Sequence[ast.stmt], name: str, values: _Values) -> _Values | None:
    """The values behind the block; None when nothing gets there."""
    now: _Values | None = values
    for statement in block:
        if now is None:
            return None
        now = _after(statement, name, now)
    return now


def _after(statement: ast.stmt, name: str, values: _Values) -> _Values | None:
    match statement:
        case ast.Return() | ast.Raise():
            return None
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                values = _assigned(target, value, name, values)
            return values
        case ast.AnnAssign(target=target, value=value) if value is not None:
            return _assigned(target, value, name, values)
        case ast.AugAssign(target=ast.Name(id=target), value=value) if target == name:
            return (_Bound(value, before=values),)
        case ast.If(body=body, orelse=orelse):
            values = _walrus(statement, name) or values
            return _union(_flow(body, name, values), _flow(orelse, name, values))
        case ast.For() | ast.AsyncFor() | ast.While():
            return _union(values, _flow(statement.body, name, _target(statement, name, values)))
        case ast.With() | ast.AsyncWith():
            return _flow(statement.body, name, _target(statement, name, values))
        case ast.Try(body=body, handlers=handlers, orelse=orelse):
            done = _flow([*body, *orelse], name, values)
            failed = values + (_flow(body, name, values) or ())
            return _union(done, *(_flow(handler.body, name, failed) for handler in handlers))
        case ast.Match(cases=cases):
            ways = [_flow(case.body, name, values) for case in cases]
            is_total = any(
                isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None for case in cases
            )
            return _union(*ways) if is_total else _union(values, *ways)
        case _:
            return _walrus(statement, name) or values


def _union(*ways: _Values | None) -> _Values | None:
    open_ways = [way for way in ways if way is not None]
    return tuple(dict.fromkeys(value for way in open_ways for value in way)) if open_ways else None


def _assigned(target: ast.expr, value: ast.expr, name: str, values: _Values) -> _Values:
    match target:
        case ast.Name(id=found) if found == name:
            return (_Bound(value),)
        case ast.Tuple(elts=parts):
            for index, part in enumerate(parts):
                if isinstance(part, ast.Name) and part.id == name:
                    return (_Bound(value, index),)
            return values
        case _:
            return values


def _target(statement: ast.stmt, name: str, values: _Values) -> _Values:
    """The variable of a loop or a `with` itself."""
    if isinstance(statement, ast.For | ast.AsyncFor):
        return _loop(statement.target, statement.iter, name) or values
    for item in statement.items if isinstance(statement, ast.With | ast.AsyncWith) else ():
        for node in ast.walk(item.optional_vars) if item.optional_vars is not None else ():
            if isinstance(node, ast.Name) and node.id == name:
                return (_Bound(None),)
    return values


def _loop(target: ast.expr, rows: ast.expr, name: str) -> _Values:
    match target:
        case ast.Name(id=found) if found == name:
            return (_Bound(rows, is_row=True),)
        case ast.Tuple(elts=parts):
            for index, part in enumerate(parts):
                if isinstance(part, ast.Name) and part.id == name:
                    return (_Bound(rows, index, is_row=True),)
            return ()
        case _:
            return ()


def _walrus(statement: ast.stmt, name: str) -> _Values:
    """`name := …` in the head of a statement."""
    heads = [
        part
        for part in ast.iter_child_nodes(statement)
        if isinstance(part, ast.expr) and not isinstance(part, ast.Lambda)
    ]
    return tuple(
        _Bound(node.value)
        for head in heads
        for node in ast.walk(head)
        if isinstance(node, ast.NamedExpr) and node.target.id == name
    )


# --- files


def _read_module(path: str, text: str) -> Module:
    name = path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
    module = Module(name, path, ast.parse(text))
    module.imports = _imports(module.nodes)
    for statement in module.tree.body:
        match statement:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                module.functions[statement.name] = statement
            case ast.ClassDef():
                module.classes[statement.name] = statement
                for inner in statement.body:
                    if isinstance(inner, Function):
                        module.functions[f"{statement.name}.{inner.name}"] = inner
            case ast.Assign(targets=[ast.Name(id=target)], value=value):
                module.constants.setdefault(target, []).append(value)
            case ast.AnnAssign(target=ast.Name(id=target), value=value) if value is not None:
                module.constants.setdefault(target, []).append(value)
            case _:
                pass
    return module


def _imports(nodes: Sequence[ast.AST]) -> dict[str, tuple[str, str]]:
    """Name here -> module, and the name there; "" for the module itself."""
    found: dict[str, tuple[str, str]] = {}
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module is not None:
            for alias in node.names:
                found[alias.asname or alias.name] = (node.module, alias.name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                found[alias.asname or alias.name] = (alias.name, "")
    return found


def read_source(root: Path) -> Source:
    """`root`: the folder that holds the package `callgate`."""
    files = sorted((root / "callgate").rglob("*.py"))
    return Source({str(path.relative_to(root)): path.read_text() for path in files})
