"""What a key may hold, made once from its annotation: it reads a value, shows it, and describes it."""

from collections.abc import Callable, Mapping, Sequence
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin

from callgate.config.problem import Loc, shown
from callgate.config.reading.kind import PLAIN_KINDS, Found, KeyTable, Kind, Schema
from callgate.config.reading.markers import After, Before, Bounds, Described, ReadBy, ShownBy
from callgate.config.reading.mistakes import INVALID, Mistake, RefusedValueError


def kind_of(annotation: Any, bounds: Bounds = Bounds()) -> Kind:  # noqa: B008 - frozen
    markers: tuple[Any, ...] = ()
    if get_origin(annotation) is Annotated:
        annotation, *rest = get_args(annotation)
        markers = tuple(rest)
    reads = [one for one in markers if isinstance(one, ReadBy)]
    inner = _OwnRule(reads[0]) if reads else _plain_kind_of(annotation)
    return _Refined(inner, markers, bounds) if markers or bounds != Bounds() else inner


def _plain_kind_of(annotation: Any) -> Kind:
    origin, args = get_origin(annotation), get_args(annotation)
    if origin in (Union, UnionType):
        inner = [one for one in args if one is not NoneType]
        assert len(inner) == 1, annotation
        return _Nullable(kind_of(inner[0]))
    if origin is Literal:
        return _Choice(args)
    if origin is tuple:
        return _List(kind_of(args[0]))
    if origin is Mapping:
        return _Named(kind_of(args[0]), kind_of(args[1]))
    if issubclass(annotation, KeyTable):
        return _Inner(annotation)
    return PLAIN_KINDS[annotation]


class _Choice(Kind):
    def __init__(self, words: Sequence[Any]) -> None:
        self._words = tuple(words)

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        if isinstance(value, (str, int)) and value in self._words:
            return self._words[self._words.index(value)]
        words = tuple(map(str, self._words))
        message = f"{shown(value)} is not one of {', '.join(words)}"
        found.append(Mistake(at, "choice", message, value=value, words=words))
        return INVALID

    def schema(self, named: dict[str, Schema]) -> Schema:
        if len(self._words) == 1:
            return {"const": self._words[0], "type": "integer"}
        return {"enum": list(self._words), "type": "string"}


class _OwnRule(Kind):
    def __init__(self, rule: ReadBy) -> None:
        self._rule = rule

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        return _obeying((self._rule.read,), value, value, at, found)

    def schema(self, named: dict[str, Schema]) -> Schema:
        return dict(self._rule.schema)


class _Nullable(Kind):
    def __init__(self, inner: Kind) -> None:
        self._inner = inner
        self.describes_bounds = inner.describes_bounds

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        return None if value is None else self._inner.read(value, at, found)

    def show(self, value: Any, is_effective: bool) -> Any:
        return None if value is None else self._inner.show(value, is_effective)

    def schema(self, named: dict[str, Schema]) -> Schema:
        return self._inner.schema(named)  # TOML has no null


class _List(Kind):
    is_collection = True

    def __init__(self, item: Kind) -> None:
        self._item = item

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        if not isinstance(value, (list, tuple)):
            found.append(Mistake(at, "other", "a list is expected"))
            return INVALID
        items = cast("Sequence[Any]", value)
        made = tuple(self._item.read(item, (*at, position), found) for position, item in enumerate(items))
        return INVALID if INVALID in made else made

    def show(self, value: Any, is_effective: bool) -> Any:
        return [self._item.show(item, is_effective) for item in value]

    def schema(self, named: dict[str, Schema]) -> Schema:
        return {"items": self._item.schema(named), "type": "array"}


class _Named(Kind):
    is_collection = True

    def __init__(self, name: Kind, value: Kind) -> None:
        self._name = name
        self._value = value

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        if not isinstance(value, Mapping):
            found.append(Mistake(at, "other", "a table is expected"))
            return INVALID
        made: dict[str, Any] = {}
        before = len(found)
        for name, one in cast("Mapping[str, Any]", value).items():
            place = (*at, name)
            key = self._name.read(name, place, found)
            made[key] = self._value.read(one, place, found)
        return INVALID if len(found) > before else made

    def show(self, value: Any, is_effective: bool) -> Any:
        return {name: self._value.show(one, is_effective) for name, one in value.items()}

    def schema(self, named: dict[str, Schema]) -> Schema:
        return {"additionalProperties": self._value.schema(named), "type": "object"}


class _Inner(Kind):
    def __init__(self, table: type[KeyTable]) -> None:
        self._table = table

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        if isinstance(value, self._table):
            return value
        if not isinstance(value, Mapping):
            found.append(Mistake(at, "other", "a table is expected"))
            return INVALID
        return self._table.read_table(cast("Mapping[str, Any]", value), at, found)

    def show(self, value: Any, is_effective: bool) -> Any:
        return value.shown(is_effective)

    def schema(self, named: dict[str, Schema]) -> Schema:
        name = self._table.__name__
        if name not in named:
            named[name] = {}  # or a table that holds itself would have no end
            named[name] = self._table.table_schema(named)
        return {"$ref": f"#/$defs/{name}"}


class _Refined(Kind):
    """Another kind, with what its markers add."""

    def __init__(self, inner: Kind, markers: Sequence[Any], bounds: Bounds) -> None:
        self._inner = inner
        # The one that stands last is asked first.
        self._before = tuple(one.prepare for one in reversed(markers) if isinstance(one, Before))
        self._bounds = (*(one for one in markers if isinstance(one, Bounds)), bounds)
        self._after = tuple(one.check for one in markers if isinstance(one, After))
        self._show = next((one.show for one in markers if isinstance(one, ShownBy)), None)
        self._described = next((one for one in markers if isinstance(one, Described)), None)
        self.is_collection = inner.is_collection
        self.describes_bounds = inner.describes_bounds

    def read(self, value: Any, at: Loc, found: Found) -> Any:
        made = _obeying(self._before, value, value, at, found)
        if made is INVALID:
            return INVALID
        made = self._inner.read(made, at, found)
        if made is INVALID or made is None:
            return made
        for bounds in self._bounds:
            if said := _beyond(made, bounds):
                found.append(Mistake(at, "other", said))
                return INVALID
        return _obeying(self._after, made, value, at, found)

    def show(self, value: Any, is_effective: bool) -> Any:
        if self._show is not None:
            return self._show(value)
        return self._inner.show(value, is_effective)

    def schema(self, named: dict[str, Schema]) -> Schema:
        if self._described is not None and not self._described.is_added:
            return dict(self._described.schema)
        own = self._inner.schema(named)
        if self.describes_bounds:
            own |= _schema_of(self._bounds)
        return own if self._described is None else {**own, **self._described.schema}


def _obeying(rules: Sequence[Callable[[Any], Any]], value: Any, written: Any, at: Loc, found: Found) -> Any:
    try:
        for rule in rules:
            value = rule(value)
    except RefusedValueError as refused:
        found.append(Mistake(at, "refused", refused.message, refused.hint, written))
        return INVALID
    except ValueError:
        found.append(Mistake(at, "other", "this is not valid"))
        return INVALID
    return value


def _beyond(value: Any, bounds: Bounds) -> str:
    """What is wrong, if anything. Not a number is beyond everything."""
    if bounds.min_length is not None and len(value) < bounds.min_length:
        return "this must not be empty"
    if bounds.le is not None and not value <= bounds.le:
        return f"must be at most {bounds.le:g}"
    if bounds.ge is not None and not value >= bounds.ge:
        return f"must be at least {bounds.ge:g}"
    if bounds.gt is not None and not value > bounds.gt:
        return f"must be more than {bounds.gt:g}"
    return ""


_WORDS = {"ge": "minimum", "gt": "exclusiveMinimum", "le": "maximum", "min_length": "minLength"}


def _schema_of(bounds: Sequence[Bounds]) -> Schema:
    return {
        word: limit
        for one in bounds
        for name, word in _WORDS.items()
        if (limit := getattr(one, name)) is not None
    }
